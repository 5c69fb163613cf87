import { setTimeout as after } from 'node:timers/promises';
import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { type AgeRule, Config } from '../config/index.js';
import { type Removable, RetentionStore, TaskStore } from '../tasks/index.js';
import { count, measure, secondsSince } from '../telemetry/index.js';
import { REASONS } from './failure.reason.js';
import { TaskCloser } from './task.closer.js';

/**
 * Lets go of what has become too old. A task that waits for somebody fails first, and ages from then on like
 * every ended one:
 *
 *   waiting --keepWaiting--> FAILED (WAITED_TOO_LONG)
 *   ended --keepEvents--> chunks of artifacts gone --keepEnded--> gone, with everything that belongs to it
 */
@Injectable()
export class RetentionKeeper implements OnApplicationBootstrap, OnModuleDestroy {
  readonly #stop = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;

  constructor(
    private readonly config: Config,
    private readonly retention: RetentionStore,
    private readonly tasks: TaskStore,
    private readonly closer: TaskCloser,
  ) {}

  onApplicationBootstrap(): void {
    const { retentionMs } = this.config;
    if (retentionMs === 0) return;
    this.#timer = setInterval(() => {
      this.#running ??= this.sweep()
        .catch((cause: unknown) => LOG.warn({ message: 'What is too old could not be removed', cause }))
        .finally(() => (this.#running = undefined));
    }, retentionMs).unref();
  }

  async onModuleDestroy(): Promise<void> {
    clearInterval(this.#timer);
    this.#stop.abort();
    await this.#running;
  }

  /** One look at everything that ages, to its end. Rejects where the database cannot answer. */
  async sweep(): Promise<void> {
    const { keepEnded, keepEvents, keepPush, keepAudit, keepWaiting } = this.config;
    await this.#repeat('waiting', () => this.#failOverdue(keepWaiting));
    await this.#remove('tasks', keepEnded);
    await this.#remove('events', keepEvents);
    await this.#remove('push', [{ ms: keepPush }]);
    await this.#remove('audit', [{ ms: keepAudit }]);
  }

  async #remove(what: Removable, rules: readonly AgeRule[]): Promise<void> {
    await this.#repeat(what, () => this.retention.remove(what, rules));
  }

  /** All of a batch at once, so that they share commits. */
  async #failOverdue(rules: readonly AgeRule[]): Promise<number> {
    const overdue = await this.retention.overdue(rules);
    await Promise.all(
      overdue.map(async ({ taskId, statusAt }) => {
        const claim = await this.tasks.acquire(taskId, statusAt);
        if (claim) await this.closer.fail(claim, REASONS.waitedTooLong);
      }),
    );
    return overdue.length;
  }

  /** Batch after batch, with a rest as long as the batch took: whoever waits for the database comes between. */
  async #repeat(what: Removable | 'waiting', batch: () => Promise<number>): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const start = performance.now();
      const removed = await batch();
      if (removed === 0) return;
      count('a2a.server.retention.removed', { what }, removed);
      measure('a2a.server.retention.duration', secondsSince(start), { what });
      await after(performance.now() - start, undefined, { signal: this.#stop.signal }).catch(() => undefined);
    }
  }
}

const LOG = new Logger('Retention');
