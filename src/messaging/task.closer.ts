import type { JsonObject } from '@bufbuild/protobuf';
import { Injectable, Logger } from '@nestjs/common';
import { type StreamResponse, TaskState } from '../protocol/index.js';
import { Clock, Ids, TaskFeed, TaskFold, TaskStore, type TurnClaim } from '../tasks/index.js';
import { AgentOutput } from './agent.output.js';
import { type Reason, reasonMetadata } from './failure.reason.js';
import { countState } from './task.metrics.js';

/** Ends claimed tasks without an agent: parked ones that are cancelled, turns that nobody may run again. */
@Injectable()
export class TaskCloser {
  constructor(
    private readonly store: TaskStore,
    private readonly feed: TaskFeed,
    private readonly clock: Clock,
    private readonly ids: Ids,
  ) {}

  /** Commits CANCELED. */
  async cancel(claim: TurnClaim, metadata?: JsonObject): Promise<void> {
    await this.#close(claim, TaskState.CANCELED, (output) =>
      output.status(TaskState.CANCELED, undefined, metadata),
    );
  }

  /** Commits FAILED with the reason as status message and metadata. */
  async fail(claim: TurnClaim, reason: Reason): Promise<void> {
    await this.#close(claim, TaskState.FAILED, (output) =>
      output.status(TaskState.FAILED, output.text(reason.text), reasonMetadata(reason)),
    ).catch((error: unknown) => LOG.error({ message: 'a task could not be failed', cause: error }));
  }

  async #close(
    claim: TurnClaim,
    state: TaskState,
    make: (output: AgentOutput) => StreamResponse,
  ): Promise<void> {
    const { stored, lease, written } = claim;
    const event = make(new AgentOutput(stored.task, this.clock, this.ids));
    const fold = new TaskFold(stored.task);
    fold.apply(event);
    const committed = await this.store.append({
      lease,
      written,
      events: [event],
      state,
      statusAt: this.clock.now(),
      snapshot: { task: fold.task, seq: stored.version + 1 },
      end: { read: stored.version, forgetsHeaders: true },
    });
    if (!committed) return;
    this.feed.publish(lease.taskId, committed.events);
    countState(claim.scope.agent, state);
  }
}

const LOG = new Logger('TaskCloser');
