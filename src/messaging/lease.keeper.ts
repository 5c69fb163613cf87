import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { AgentRegistry } from '../agents/index.js';
import { Config } from '../config/index.js';
import { TaskStore, type TurnClaim } from '../tasks/index.js';
import { REASONS } from './failure.reason.js';
import { TaskCloser } from './task.closer.js';
import { TurnRunner } from './turn.runner.js';

const LONGEST_SWEEP_MS = 1_000;
const BATCH = 20;

/**
 * Keeps this replica's leases alive and takes over turns whose replica is gone.
 *
 *   held --heartbeat answers--> held     --heartbeat does not know it--> lost: the turn is dropped
 *   expired --taken over--> cancelled where that was asked; run again while the agent's policy allows;
 *                           else failed with the reason
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
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    const beat = this.config.leaseMs / 4;
    this.#every(beat, () => this.heartbeat());
    this.#every(Math.min(beat, LONGEST_SWEEP_MS), () => this.sweep());
    await this.sweep();
  }

  onModuleDestroy(): void {
    for (const timer of this.#timers) clearInterval(timer);
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
    }
  }

  async sweep(): Promise<void> {
    const claims = await this.store.takeExpired(BATCH);
    for (const claim of claims) await this.#takeOver(claim);
  }

  async #takeOver(claim: TurnClaim): Promise<void> {
    const retries = this.agents.get(claim.scope.agent)?.settings.crash.retries ?? 0;
    const rerun = !claim.cancelRequested && claim.attempt <= 1 + retries;
    LOG.warn({ message: 'turn taken over', task: claim.lease.taskId, attempt: claim.attempt, rerun });
    if (rerun) this.runner.start(claim);
    else if (claim.cancelRequested) await this.closer.cancel(claim);
    else await this.closer.fail(claim, REASONS.replicaLost);
  }

  /** Runs the work at a steady pace, never twice at once. The database being away is no news here. */
  #every(ms: number, work: () => Promise<void>): void {
    let busy = false;
    const timer = setInterval(async () => {
      if (busy) return;
      busy = true;
      await work().catch((error: unknown) => LOG.debug({ message: 'lease round failed', cause: error }));
      busy = false;
    }, ms);
    this.#timers.push(timer.unref());
  }
}

const LOG = new Logger('LeaseKeeper');
