import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { AgentRegistry } from '../agents/index.js';
import { Config } from '../config/index.js';
import { EventBus, TaskFeed, TaskStore, type TurnClaim } from '../tasks/index.js';
import { count } from '../telemetry/index.js';
import { REASONS, type Reason } from './failure.reason.js';
import { TaskCloser } from './task.closer.js';
import { TurnRunner } from './turn.runner.js';

const LONGEST_SWEEP_MS = 1_000;
const BATCH = 20;

/**
 * Keeps this replica's leases alive and takes over turns whose replica is gone.
 *
 *   held --heartbeat answers--> held     --heartbeat does not know it--> lost: the turn is dropped
 *   expired --taken over--> cancelled where that was asked; run again after a hand-over, and after a crash while
 *                           the agent's policy allows; else failed with the reason, also where nobody has served
 *                           its agent, or its version, for long
 */
@Injectable()
export class LeaseKeeper implements OnApplicationBootstrap, OnModuleDestroy {
  readonly #timers: NodeJS.Timeout[] = [];

  constructor(
    private readonly config: Config,
    private readonly store: TaskStore,
    private readonly agents: AgentRegistry,
    private readonly runner: TurnRunner,
    private readonly closer: TaskCloser,
    private readonly feed: TaskFeed,
    private readonly bus: EventBus,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    const beat = this.config.leaseMs / 4;
    this.#every(beat, () => this.heartbeat());
    const sweep = this.#every(Math.min(beat, LONGEST_SWEEP_MS), () => this.sweep());
    this.runner.onPlace(sweep);
    this.bus.listen((heard) => {
      if (heard.kind === 'turn' || heard.kind === 'resync') sweep();
    });
    await this.sweep();
  }

  /** The heart beats until the last turn is over or handed over; then the readers are let go. */
  async onModuleDestroy(): Promise<void> {
    await this.runner
      .drain(this.config.drainMs)
      .catch((error: unknown) => LOG.warn({ message: 'turns could not be handed over', cause: error }));
    for (const timer of this.#timers) clearInterval(timer);
    this.feed.close();
  }

  async heartbeat(): Promise<void> {
    const leases = this.runner.leases();
    if (leases.length === 0) return;
    const held = new Map((await this.store.renew(leases)).map((lease) => [lease.taskId, lease]));
    for (const { taskId, token } of leases) {
      const turn = this.runner.get(taskId);
      if (turn?.claim.lease.token !== token) continue;
      const lease = held.get(taskId);
      if (!lease) turn.loseLease();
      else if (lease.cancelRequested) this.runner.cancel(taskId);
      if (lease) await this.runner.fetch(taskId, lease.inboxSeq);
    }
  }

  async sweep(): Promise<void> {
    const free = this.runner.free();
    if (free.length === 0) return;
    const claims = await this.store.takeExpired(free, BATCH);
    for (const claim of claims) await this.#takeOver(claim);
    if (claims.length === BATCH) await this.sweep();
  }

  async #takeOver(claim: TurnClaim): Promise<void> {
    const agent = this.agents.heir(claim.scope.agent, claim.agentVersion);
    const rerun = !claim.cancelRequested && claim.crashes <= (agent?.settings.crash.retries ?? 0);
    if (claim.crashes > 0) {
      const outcome = rerun ? 'rerun' : claim.cancelRequested ? 'cancelled' : 'failed';
      count('a2a.server.turns.taken_over', { agent: claim.scope.agent, outcome });
      LOG.warn({ message: 'turn taken over', task: claim.lease.taskId, attempt: claim.attempt, rerun });
    }
    if (claim.cancelRequested) await this.closer.cancel(claim);
    else if (!agent) await this.closer.fail(claim, this.#gone(claim));
    else if (rerun) this.runner.start(claim);
    else await this.closer.fail(claim, REASONS.replicaLost);
  }

  #gone({ scope }: TurnClaim): Reason {
    return this.agents.get(scope.agent) ? REASONS.agentVersionGone : REASONS.agentGone;
  }

  /**
   * Runs the work at a steady pace, and at once when the function that it answers is called; never twice at the
   * same time. The database being away is no news here.
   */
  #every(ms: number, work: () => Promise<void>): () => void {
    let busy = false;
    let again = false;
    const round = async () => {
      again = busy;
      if (busy) return;
      busy = true;
      await work().catch((error: unknown) => LOG.debug({ message: 'lease round failed', cause: error }));
      busy = false;
      if (again) void round();
    };
    this.#timers.push(setInterval(() => void round(), ms).unref());
    return () => void round();
  }
}

const LOG = new Logger('LeaseKeeper');
