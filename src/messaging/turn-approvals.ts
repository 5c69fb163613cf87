import { timestampMs } from '@bufbuild/protobuf/wkt';
import { Injectable } from '@nestjs/common';
import type { Approval } from '../agents/index.js';
import { A2AError, type Task, TaskState } from '../protocol/index.js';
import { Clock, type Delivery, Ids, TaskFeed, TaskStore } from '../tasks/index.js';
import { answerEvent, approvalEvent } from './approval.event.js';
import { Approvals, type OperatorAnswer } from './approvals.js';
import { TurnRunner } from './turn.runner.js';

/** Approvals as entries of the task's log: committed first, then the next turn starts with them. */
@Injectable()
export class TurnApprovals extends Approvals {
  constructor(
    private readonly store: TaskStore,
    private readonly feed: TaskFeed,
    private readonly clock: Clock,
    private readonly runner: TurnRunner,
    private readonly ids: Ids,
  ) {
    super();
  }

  async resolve(taskId: string, approval: Approval, since?: number): Promise<Task> {
    const at = this.clock.now();
    return this.#deliver(taskId, 'an approval', (task) => ({
      event: approvalEvent(task, approval, at),
      states: [TaskState.AUTH_REQUIRED],
      state: TaskState.WORKING,
      statusAt: at,
      since: since ?? statusTime(task),
    }));
  }

  answer(taskId: string, { text, by }: OperatorAnswer, since?: number): Promise<Task> {
    return this.#deliver(taskId, 'input', (task) => ({
      event: answerEvent(task, { messageId: this.ids.next(), text, by }),
      states: [TaskState.INPUT_REQUIRED],
      since: since ?? statusTime(task),
    }));
  }

  /** Commits what the task waits for, then starts its next turn. */
  async #deliver(
    taskId: string,
    what: string,
    make: (task: Task) => Omit<Delivery, 'taskId' | 'request'>,
  ): Promise<Task> {
    const waiting = await this.store.find(taskId);
    if (!waiting) throw new A2AError('taskNotFound', { metadata: { taskId } });
    const { stored } = waiting;
    // It is the operator who calls now.
    const request = { ...waiting.request, headers: undefined };
    const delivered = await this.store.deliver({ taskId, request, ...make(stored.task) });
    if (!delivered || delivered === 'duplicate') {
      const message = `The task does not wait for ${what}`;
      throw new A2AError('unsupportedOperation', { message, metadata: { taskId } });
    }
    this.feed.publish(taskId, [delivered.event]);
    this.runner.deliver(taskId, delivered.event);
    const claim = delivered.lease && (await this.store.reload(delivered.lease));
    if (claim) this.runner.start(claim);
    return claim?.stored.task ?? (await this.store.find(taskId))!.stored.task;
  }
}

const statusTime = ({ status }: Task) => timestampMs(status!.timestamp!);
