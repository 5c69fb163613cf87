import { Logger } from '@nestjs/common';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { House, type Replica, type ReplicaOptions } from './house.js';
import { WebhookReceiver } from './webhook.receiver.js';

/** A house for the tests of one file, with a receiver for each test and replicas that push until it ends. */
export class PushStage {
  house!: House;
  hook!: WebhookReceiver;
  readonly #replicas: Replica[] = [];

  constructor(private readonly env: Readonly<Record<string, string>>) {
    beforeAll(async () => {
      Logger.overrideLogger(false);
      this.house = await House.open();
    });
    afterAll(() => this.house.close());
    beforeEach(async () => {
      this.hook = await WebhookReceiver.listen();
    });
    afterEach(() => this.hook.close());
    afterEach(async () => {
      for (const replica of this.#replicas.splice(0)) await replica.push.beforeApplicationShutdown();
    });
  }

  readonly open = (script: ReplicaOptions['script'], more: Partial<ReplicaOptions> = {}): Replica => {
    const replica = this.house.replica({ script, env: this.env, ...more });
    replica.push.onApplicationBootstrap();
    this.#replicas.push(replica);
    return replica;
  };
}
