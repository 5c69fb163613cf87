import type { JsonObject } from '@bufbuild/protobuf';
import { Injectable, Logger } from '@nestjs/common';
import { type AgentDefinition, AgentRegistry } from '../agents/index.js';
import type { StreamEvent } from '../protocol/index.js';
import { Clock, Ids, type Lease, TaskFeed, TaskStore, type TurnClaim } from '../tasks/index.js';
import { REASONS } from './failure.reason.js';
import { TaskCloser } from './task.closer.js';
import { Turn } from './turn.js';

/** A turn of this replica: running, or waiting for a free place. */
interface Place {
  readonly turn: Turn;
  readonly lease: Lease;
}

/** A turn in the queue for its agent. `counted`: it takes a place; a cancelled one goes past the queue. */
interface Waiting {
  readonly taskId: string;
  readonly enter: (counted: boolean) => void;
}

/**
 * Runs turns, detached from the calls that caused them: at most `concurrency` per agent at once, the rest wait
 * with their lease kept.
 */
@Injectable()
export class TurnRunner {
  readonly #places = new Map<string, Place>();
  readonly #running = new Map<string, number>();
  readonly #waiting = new Map<string, Waiting[]>();
  #idle: (() => void) | undefined;

  constructor(
    private readonly agents: AgentRegistry,
    private readonly store: TaskStore,
    private readonly feed: TaskFeed,
    private readonly clock: Clock,
    private readonly ids: Ids,
    private readonly closer: TaskCloser,
  ) {}

  /** Starts the claimed turn and returns at once. Undefined: the agent is not served here, the task is closed. */
  start(claim: TurnClaim): Turn | undefined {
    const agent = this.agents.get(claim.scope.agent);
    if (!agent) {
      void this.closer.fail(claim, REASONS.agentGone);
      return undefined;
    }
    const turn = this.#place(claim, agent);
    void this.#run(turn, agent);
    return turn;
  }

  get(taskId: string): Turn | undefined {
    return this.#places.get(taskId)?.turn;
  }

  /** Hands a committed message or approval to the task's turn, if it runs here. */
  deliver(taskId: string, event: StreamEvent): void {
    this.get(taskId)?.deliver(event);
  }

  /** Cancels the task's turn, if it is here; one that waits for a place is let in to end at once. */
  cancel(taskId: string, metadata?: JsonObject): void {
    const turn = this.get(taskId);
    if (!turn) return;
    turn.cancel(metadata);
    const queue = this.#waiting.get(turn.claim.scope.agent) ?? [];
    const at = queue.findIndex((waiting) => waiting.taskId === taskId);
    if (at >= 0) queue.splice(at, 1)[0]!.enter(false);
  }

  /** The leases to keep alive. */
  leases(): Lease[] {
    return [...this.#places.values()].map(({ lease }) => lease);
  }

  get size(): number {
    return this.#places.size;
  }

  /** Resolves when no turn is left, or after the time. */
  async idle(ms: number): Promise<void> {
    if (this.#places.size === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#idle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #place(claim: TurnClaim, agent: AgentDefinition): Turn {
    const { store, feed, clock, ids } = this;
    const turn = new Turn(claim, agent, { store, feed, clock, ids });
    this.#places.set(claim.lease.taskId, { turn, lease: claim.lease });
    return turn;
  }

  async #run(turn: Turn, agent: AgentDefinition): Promise<void> {
    const { lease } = turn.claim;
    const counted = await this.#enter(agent, lease.taskId);
    try {
      for (let now: Turn | undefined = turn; now; ) {
        const again: boolean = await now.run();
        now = again ? await this.#next(lease, agent) : undefined;
      }
    } catch (error) {
      LOG.error({ message: 'a turn broke off', agent: agent.id, task: lease.taskId, cause: error });
    } finally {
      this.#leave(agent, lease, counted);
    }
  }

  /** The turn for a message that came while the last one ran. */
  async #next(lease: Lease, agent: AgentDefinition): Promise<Turn | undefined> {
    const claim = await this.store.reload(lease);
    return claim && this.#place(claim, agent);
  }

  async #enter({ id, settings }: AgentDefinition, taskId: string): Promise<boolean> {
    const running = this.#running.get(id) ?? 0;
    if (running < settings.concurrency) {
      this.#running.set(id, running + 1);
      return true;
    }
    const queue = this.#waiting.get(id) ?? [];
    this.#waiting.set(id, queue);
    return new Promise((enter) => queue.push({ taskId, enter }));
  }

  #leave({ id }: AgentDefinition, { taskId, token }: Lease, counted: boolean): void {
    if (this.#places.get(taskId)?.lease.token === token) this.#places.delete(taskId);
    if (counted) {
      const next = this.#waiting.get(id)?.shift();
      if (next) next.enter(true);
      else this.#running.set(id, this.#running.get(id)! - 1);
    }
    if (this.#places.size === 0) this.#idle?.();
  }
}

const LOG = new Logger('TurnRunner');
