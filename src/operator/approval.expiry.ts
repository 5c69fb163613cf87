import { setTimeout as after } from 'node:timers/promises';
import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { AuditLog, operatorNamed } from '../auth/index.js';
import { Config } from '../config/index.js';
import { Approvals } from '../messaging/index.js';
import { A2AError, TaskState } from '../protocol/index.js';
import { type Overdue, RetentionStore } from '../tasks/index.js';

const LOOK_MS = 2_000;
const BY = 'parley';
const REASON = 'Nobody answered in time.';

/**
 * Refuses what nobody has approved in time, as an operator would: the agent's next turn begins with the refusal and
 * ends the task as it sees fit. Every replica looks; of several that refuse one wait at once, one does. Tasks that
 * wait for their caller, and those of agents that are gone, are ended by retention (`PARLEY_KEEP_WAITING`).
 */
@Injectable()
export class ApprovalExpiry implements OnApplicationBootstrap, OnModuleDestroy {
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;

  constructor(
    private readonly config: Config,
    private readonly waiting: RetentionStore,
    private readonly approvals: Approvals,
    private readonly audit: AuditLog,
  ) {}

  onApplicationBootstrap(): void {
    if (this.config.approvalExpiry.every(({ ms }) => ms === Number.POSITIVE_INFINITY)) return;
    this.#running = this.#run();
  }

  async onModuleDestroy(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** Refuses all that is overdue now. Rejects where the database cannot answer. */
  async sweep(): Promise<void> {
    const overdue = await this.waiting.overdue(this.config.approvalExpiry, TaskState.AUTH_REQUIRED);
    await Promise.all(overdue.map((wait) => this.#refuse(wait)));
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await this.sweep().catch((cause: unknown) =>
        LOG.warn({ message: 'What nobody has approved in time could not be refused', cause }),
      );
      await after(LOOK_MS, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  async #refuse({ taskId, statusAt }: Overdue): Promise<void> {
    try {
      await this.approvals.resolve(taskId, { approved: false, by: BY, reason: REASON }, statusAt);
    } catch (error) {
      // Somebody has answered, or another replica was first.
      if (error instanceof A2AError && ['unsupportedOperation', 'taskNotFound'].includes(error.kind)) return;
      throw error;
    }
    this.audit.record({
      act: 'approval',
      principal: operatorNamed(BY),
      taskId,
      reason: 'expired',
      why: REASON,
    });
  }
}

const LOG = new Logger('Approvals');
