import { hash } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import type { PushCredentials } from './push.credentials.js';

/** A config whose events are posted. */
export interface NotificationSource {
  readonly taskId: string;
  readonly configId: string;
}

/** Makes the headers of one try. `seq` is the event's number in the task's log. */
export type Signature = (seq: number, body: string) => Record<string, string>;

/** Signs pushes by Standard Webhooks, once with each secret. */
export class WebhookSigner {
  readonly #webhooks: readonly Webhook[];

  /** `secrets`: those of the deployment, newest first. Without any, pushes have an id and no signature. */
  constructor(secrets: readonly string[]) {
    this.#webhooks = secrets.map((secret) => new Webhook(secret));
  }

  /**
   * For the tries of one config: the id is the same on every try of one event, the time is not. It has no dots, which
   * are what the signed text is joined by.
   */
  of({ taskId, configId }: NotificationSource, { secret }: PushCredentials): Signature {
    const webhooks = secret ? [new Webhook(secret)] : this.#webhooks;
    const source = `evt_${taskId}_${hash('sha256', configId).slice(0, 8)}`;
    return (seq, body) => {
      const id = `${source}_${seq}`;
      const at = new Date();
      const headers: Record<string, string> = {
        'webhook-id': id,
        'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      };
      if (webhooks.length > 0)
        headers['webhook-signature'] = webhooks.map((webhook) => webhook.sign(id, at, body)).join(' ');
      return headers;
    };
  }
}
