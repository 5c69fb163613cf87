import { type BeforeApplicationShutdown, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Config } from '../config/index.js';
import { SecretCipher } from '../database/index.js';
import { A2AError } from '../protocol/index.js';
import { Ids, PushSignal, TaskStore } from '../tasks/index.js';
import { PushBodies } from './push.body.js';
import { PushConfigs } from './push.configs.js';
import { PushDispatcher } from './push.dispatcher.js';
import { PushMetrics } from './push.metrics.js';
import { type PushClaim, PushStore } from './push.store.js';
import { ReceiverHosts } from './receiver.hosts.js';
import { RetrySchedule } from './retry.schedule.js';
import { type WebhookAnswer, WebhookClient } from './webhook.client.js';
import { WebhookGuard } from './webhook.guard.js';
import { WebhookSigner } from './webhook.signer.js';

/** Push is on where pushes can be signed, or where the operator wants them unsigned. */
export const pushIsOn = ({ pushSecrets, pushUnsigned }: Pick<Config, 'pushSecrets' | 'pushUnsigned'>) =>
  pushSecrets.length > 0 || pushUnsigned;

type GivenUp = (claim: PushClaim, answer: WebhookAnswer) => void;

interface Parts {
  readonly configs: PushConfigs;
  readonly dispatcher: PushDispatcher;
  readonly client: WebhookClient;
}

/** Push as a whole: the callers' configs and what delivers to them. */
@Injectable()
export class PushService implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #parts: Parts | undefined;
  readonly #listeners: GivenUp[] = [];

  constructor(config: Config, store: PushStore, signal: PushSignal, tasks: TaskStore, ids: Ids) {
    if (!pushIsOn(config)) return;
    const { pushConcurrency: concurrency, pushTimeoutMs: timeoutMs, pushProxy: proxy } = config;
    const guard = new WebhookGuard(config.pushAllow);
    const client = new WebhookClient({ guard, timeoutMs, proxy });
    const metrics = new PushMetrics(store);
    const services = {
      client,
      signer: new WebhookSigner(config.pushSecrets),
      hosts: new ReceiverHosts(concurrency),
      circuit: store,
      schedule: new RetrySchedule(config.pushRetryMs),
      bodies: new PushBodies(tasks),
      metrics,
      unlock: ({ target }: { target: Parameters<PushConfigs['unlock']>[0] }) => configs.unlock(target),
      givenUp: (claim: PushClaim, answer: WebhookAnswer) => {
        metrics.died(claim, answer);
        for (const tell of this.#listeners) tell(claim, answer);
      },
    };
    const dispatcher = new PushDispatcher({ store, signal, services, concurrency });
    const configs = new PushConfigs({
      store,
      guard,
      cipher: new SecretCipher(config.pushKeys),
      ids,
      abort: (taskId, id) => dispatcher.abort(taskId, id),
    });
    this.#parts = { configs, dispatcher, client };
  }

  /** @throws A2AError `pushNotificationNotSupported` where push is off */
  get configs(): PushConfigs {
    if (!this.#parts) throw new A2AError('pushNotificationNotSupported');
    return this.#parts.configs;
  }

  /** The listener is told of every config that this replica gives up, with its last answer. */
  onGivenUp(listener: GivenUp): void {
    this.#listeners.push(listener);
  }

  onApplicationBootstrap(): void {
    this.#parts?.dispatcher.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.#parts?.dispatcher.stop();
    await this.#parts?.client.close();
  }
}
