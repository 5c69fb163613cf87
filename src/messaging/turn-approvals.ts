import { Injectable } from '@nestjs/common';
import type { Approval } from '../agents/index.js';
import { A2AError, type Task, TaskState } from '../protocol/index.js';
import { Clock, TaskFeed, TaskStore } from '../tasks/index.js';
import { approvalEvent } from './approval.event.js';
import { Approvals } from './approvals.js';
import { TurnRunner } from './turn.runner.js';

/** Approvals as entries of the task's log: committed first, then the next turn starts with them. */
@Injectable()
export class TurnApprovals extends Approvals {
  constructor(
    private readonly store: TaskStore,
    private readonly feed: TaskFeed,
    private readonly clock: Clock,
    private readonly runner: TurnRunner,
  ) {
    super();
  }

  async resolve(taskId: string, approval: Approval): Promise<Task> {
    const waiting = await this.store.find(taskId);
    if (!waiting) throw new A2AError('taskNotFound', { metadata: { taskId } });
    const at = this.clock.now();
    const delivered = await this.store.deliver({
      taskId,
      event: approvalEvent(waiting.stored.task, approval, at),
      request: waiting.request,
      states: [TaskState.AUTH_REQUIRED],
      state: TaskState.WORKING,
      statusAt: at,
    });
    if (!delivered || delivered === 'duplicate') {
      const message = 'The task does not wait for an approval';
      throw new A2AError('unsupportedOperation', { message, metadata: { taskId } });
    }
    this.feed.publish(taskId, [delivered.event]);
    this.runner.deliver(taskId, delivered.event);
    const claim = delivered.lease && (await this.store.reload(delivered.lease));
    if (claim) this.runner.start(claim);
    return claim?.stored.task ?? (await this.store.find(taskId))!.stored.task;
  }
}
