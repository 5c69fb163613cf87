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

/**
 * Runs turns, detached from the calls that caused them: at most `concurrency` per agent at once, the rest wait
 * with their lease kept.
 */
@Injectable()
export class TurnRunner {
  readonly #places = new Map<string, Place>();
  readonly #running = new Map<string, number>();
  readonly #waiting = new Map<string, (() => void)[]>();
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
    await this.#enter(agent);
    try {
      for (let now: Turn | undefined = turn; now; ) {
        const again: boolean = await now.run();
        now = again ? await this.#next(lease, agent) : undefined;
      }
    } catch (error) {
      LOG.error({ message: 'a turn broke off', agent: agent.id, task: lease.taskId, cause: error });
    } finally {
      this.#leave(agent, lease);
    }
  }

  /** The turn for a message that came while the last one ran. */
  async #next(lease: Lease, agent: AgentDefinition): Promise<Turn | undefined> {
    const claim = await this.store.reload(lease);
    return claim && this.#place(claim, agent);
  }

  async #enter({ id, settings }: AgentDefinition): Promise<void> {
    const running = this.#running.get(id) ?? 0;
    if (running < settings.concurrency) {
      this.#running.set(id, running + 1);
      return;
    }
    const queue = this.#waiting.get(id) ?? [];
    this.#waiting.set(id, queue);
    await new Promise<void>((resolve) => queue.push(resolve));
  }

  #leave({ id }: AgentDefinition, { taskId, token }: Lease): void {
    if (this.#places.get(taskId)?.lease.token === token) this.#places.delete(taskId);
    const next = this.#waiting.get(id)?.shift();
    if (next) next();
    else this.#running.set(id, this.#running.get(id)! - 1);
    if (this.#places.size === 0) this.#idle?.();
  }
}

const LOG = new Logger('TurnRunner');
