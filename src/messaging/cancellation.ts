import type { JsonObject } from '@bufbuild/protobuf';
import { Injectable, Logger } from '@nestjs/common';
import { AgentRegistry } from '../agents/index.js';
import { Config } from '../config/index.js';
import { A2AError, type Task, TaskState } from '../protocol/index.js';
import {
  EventBus,
  isTerminal,
  type Tail,
  TaskFeed,
  type TaskScope,
  TaskStore,
  type TurnClaim,
} from '../tasks/index.js';
import { TaskCloser } from './task.closer.js';
import { TurnRunner } from './turn.runner.js';

/** Cancels tasks (specification 3.1.5), wherever their turn runs. */
@Injectable()
export class Cancellation {
  constructor(
    private readonly config: Config,
    private readonly store: TaskStore,
    private readonly feed: TaskFeed,
    private readonly agents: AgentRegistry,
    private readonly runner: TurnRunner,
    private readonly closer: TaskCloser,
    private readonly bus: EventBus,
  ) {}

  /**
   * The task as stored once it is CANCELED; cancelling twice answers the same.
   *
   * @throws A2AError `taskNotFound`; `taskNotCancelable` when it ended otherwise, also while this was under
   * way; `unavailable` when the replica that runs it does not react in time
   */
  async cancel(taskId: string, scope: TaskScope, metadata?: JsonObject): Promise<Task> {
    const mark = await this.store.requestCancel(taskId, scope);
    if (mark) await this.#stopAndWait(taskId, scope, mark.running, metadata);
    const stored = await this.store.read(taskId, scope);
    if (!stored) throw new A2AError('taskNotFound', { metadata: { taskId } });
    const { state } = stored.task.status!;
    if (state === TaskState.CANCELED) return stored.task;
    if (isTerminal(state)) {
      throw new A2AError('taskNotCancelable', { metadata: { taskId, state: TaskState[state] } });
    }
    throw new A2AError('unavailable', { message: 'The task has not stopped yet', retryAfter: 1 });
  }

  async #stopAndWait(
    taskId: string,
    scope: TaskScope,
    running: boolean,
    metadata: JsonObject | undefined,
  ): Promise<void> {
    const tail = this.feed.follow(taskId, 0);
    try {
      await this.#stop(taskId, running, metadata);
      const stored = await this.store.read(taskId, scope);
      if (!stored || isTerminal(stored.task.status!.state)) return;
      const grace = this.agents.heir(scope.agent, stored.agentVersion)?.settings.cancelGraceMs ?? 0;
      await this.#ended(tail.seek(stored.version), grace + this.config.leaseMs * 2);
    } finally {
      await tail.return();
    }
  }

  async #stop(taskId: string, running: boolean, metadata: JsonObject | undefined): Promise<void> {
    const claim = running ? undefined : await this.store.acquire(taskId);
    if (claim) {
      await this.closer.cancel(claim, metadata);
      this.#abandon(claim);
      return;
    }
    this.runner.cancel(taskId, metadata);
    if (!this.runner.get(taskId)) this.bus.tell({ kind: 'cancel', taskId });
  }

  /** Tells the agent, whose turn is over; the task is CANCELED whatever comes of it. */
  #abandon({ scope, agentVersion, stored }: TurnClaim): void {
    this.agents
      .heir(scope.agent, agentVersion)
      ?.executor.abandon?.(stored.task)
      .catch((error: unknown) =>
        LOG.warn({ message: 'abandon hook failed', task: stored.task.id, cause: error }),
      );
  }

  async #ended(tail: Tail, ms: number): Promise<void> {
    const timer = setTimeout(() => void tail.return(), ms);
    try {
      for await (const events of tail) {
        const ended = events.some(
          ({ response: { payload } }) =>
            payload.case === 'statusUpdate' && isTerminal(payload.value.status!.state),
        );
        if (ended) return;
      }
    } finally {
      clearTimeout(timer);
    }
  }
}

const LOG = new Logger('Cancellation');
