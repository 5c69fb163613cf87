import { createHmac, hash } from 'node:crypto';
import type { PushCredentials } from './push.credentials.js';

/** One event on its way to one receiver. */
export interface Notification {
  readonly taskId: string;
  readonly configId: string;
  /** The event's number in the task's log. */
  readonly seq: number;
  readonly body: string;
}

/**
 * Signs pushes by Standard Webhooks, once with each secret. By Node's own HMAC: the library hashes in JavaScript,
 * which would cost more than the rest of a push.
 */
export class WebhookSigner {
  readonly #keys: readonly Buffer[];

  /** `secrets`: those of the deployment, newest first. Without any, pushes have an id and no signature. */
  constructor(secrets: readonly string[]) {
    this.#keys = secrets.map(keyOf);
  }

  /** The headers of one try: the id is the same on every try of one event, the time is not. */
  headers(notification: Notification, { secret }: PushCredentials): Record<string, string> {
    const id = notificationId(notification);
    const timestamp = String(Math.floor(Date.now() / 1000));
    const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp };
    const keys = secret ? [keyOf(secret)] : this.#keys;
    if (keys.length === 0) return headers;
    const signed = `${id}.${timestamp}.${notification.body}`;
    return { ...headers, 'webhook-signature': keys.map((key) => signature(key, signed)).join(' ') };
  }
}

const keyOf = (secret: string) => Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
const signature = (key: Buffer, text: string) =>
  `v1,${createHmac('sha256', key).update(text).digest('base64')}`;

/** Names an event at a receiver; without dots, which are what the signed text is joined by. */
function notificationId({ taskId, configId, seq }: Notification): string {
  return `evt_${taskId}_${hash('sha256', configId).slice(0, 8)}_${seq}`;
}
