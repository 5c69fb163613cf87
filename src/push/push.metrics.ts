import { Logger } from '@nestjs/common';
import { count, measure, observe } from '../telemetry/index.js';
import type { PushBacklog, PushClaim, PushStore } from './push.store.js';
import type { WebhookAnswer } from './webhook.client.js';

export type TryOutcome = 'delivered' | 'failed' | 'gone' | 'dead';

/** What operators measure of push, and the log's records of what they have to know. */
export class PushMetrics {
  readonly #logger = new Logger('push');

  constructor(store: Pick<PushStore, 'backlog'>) {
    let asked: Promise<PushBacklog | undefined> | undefined;
    // One statement for the three of them.
    const backlog = () => {
      asked ??= store.backlog().catch(() => undefined);
      return asked.finally(() => {
        asked = undefined;
      });
    };
    observe('a2a.server.push.lag', async (tell) => {
      const now = await backlog();
      if (now) tell(now.lagSeconds, {});
    });
    observe('a2a.server.push.due', async (tell) => {
      const now = await backlog();
      if (now) tell(now.due, {});
    });
    observe('a2a.server.push.dead', async (tell) => {
      const now = await backlog();
      if (now) tell(now.dead, {});
    });
  }

  tried(outcome: TryOutcome, { ms }: WebhookAnswer): void {
    count('a2a.server.push.tries', { outcome });
    measure('a2a.server.push.duration', ms / 1000, { outcome });
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
