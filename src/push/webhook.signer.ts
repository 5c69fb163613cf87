import { hash } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import type { PushCredentials } from './push.credentials.js';

/** One event on its way to one receiver. */
export interface Notification {
  readonly taskId: string;
  readonly configId: string;
  /** The event's number in the task's log. */
  readonly seq: number;
  readonly body: string;
}

/** Signs pushes by Standard Webhooks, once with each secret. */
export class WebhookSigner {
  readonly #webhooks: readonly Webhook[];

  /** `secrets`: those of the deployment, newest first. Without any, pushes have an id and no signature. */
  constructor(secrets: readonly string[]) {
    this.#webhooks = secrets.map((secret) => new Webhook(secret));
  }

  /** The headers of one try: the id is the same on every try of one event, the time is not. */
  headers(notification: Notification, { secret }: PushCredentials): Record<string, string> {
    const id = notificationId(notification);
    const at = new Date();
    const timestamp = String(Math.floor(at.getTime() / 1000));
    const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp };
    const webhooks = secret ? [new Webhook(secret)] : this.#webhooks;
    if (webhooks.length === 0) return headers;
    const signatures = webhooks.map((webhook) => webhook.sign(id, at, notification.body));
    return { ...headers, 'webhook-signature': signatures.join(' ') };
  }
}

/** Names an event at a receiver; without dots, which are what the signed text is joined by. */
function notificationId({ taskId, configId, seq }: Notification): string {
  return `evt_${taskId}_${hash('sha256', configId).slice(0, 8)}_${seq}`;
}
