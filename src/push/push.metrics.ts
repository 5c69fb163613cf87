import { Logger } from '@nestjs/common';
import { metrics } from '@opentelemetry/api';
import type { PushClaim, PushStore } from './push.store.js';
import type { WebhookAnswer } from './webhook.client.js';

export type TryOutcome = 'delivered' | 'failed' | 'gone' | 'dead';

/** What operators measure of push, and the log's records of what they have to know. */
export class PushMetrics {
  readonly #logger = new Logger('push');
  readonly #meter = metrics.getMeter('parley');
  readonly #tries = this.#meter.createCounter('parley.push.tries', {
    description: 'Tries of pushes by outcome',
  });
  readonly #duration = this.#meter.createHistogram('parley.push.duration', {
    description: 'Time that receivers take to answer',
    unit: 's',
  });

  constructor(store: Pick<PushStore, 'backlog'>) {
    const lag = this.#meter.createObservableGauge('parley.push.lag', { unit: 's' });
    const dead = this.#meter.createObservableGauge('parley.push.dead');
    const due = this.#meter.createObservableGauge('parley.push.due');
    this.#meter.addBatchObservableCallback(
      async (result) => {
        const backlog = await store.backlog().catch(() => undefined);
        if (!backlog) return;
        result.observe(lag, backlog.lagSeconds);
        result.observe(dead, backlog.dead);
        result.observe(due, backlog.due);
      },
      [lag, dead, due],
    );
  }

  tried(outcome: TryOutcome, { ms }: WebhookAnswer): void {
    this.#tries.add(1, { outcome });
    this.#duration.record(ms / 1000, { outcome });
  }

  /** A config was given up: somebody has to look. */
  died({ taskId, agent, target }: PushClaim, { status, error }: WebhookAnswer): void {
    this.#logger.error({
      message: 'A push config is dead: its receiver took no push after the last try',
      taskId,
      agent,
      configId: target.id,
      host: target.host,
      status,
      reason: error,
    });
  }

  paused(host: string): void {
    this.#logger.warn({
      message: 'A receiver keeps failing and is paused; it is probed from time to time',
      host,
    });
  }

  broken(message: string, cause: unknown): void {
    this.#logger.error({ message, cause });
  }
}
