import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Webhook } from 'standardwebhooks';
import { MemorySeenIds, type SeenIds } from './seen.ids.js';

const MOST_BYTES = 16 * 1024 * 1024;
const TYPES = new Set(['application/a2a+json', 'application/json']);

export interface PushReceiverOptions {
  /** The sender's secrets (`whsec_...`): during a change of secrets the old and the new one. */
  readonly secrets: readonly string[];
  /** The token that was given with the config, if one was. */
  readonly token?: string;
  /**
   * Whether a task is one of those that are waited for; all are by default. A push can arrive before the answer to the
   * message that began its task: what is refused then comes again.
   */
  readonly expects?: (taskId: string) => boolean;
  /** Where handled ids are remembered; in this process by default. */
  readonly seen?: SeenIds;
  /** Largest body, bytes. */
  readonly maxBytes?: number;
}

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** A notification that is what it says: signed, fresh, and with the right token. */
export interface PushNotification {
  /** The same on every try of one event. */
  readonly id: string;
  readonly taskId: string;
  /** One StreamResponse (`task`, `statusUpdate` or `artifactUpdate`), or a Task from a sender of A2A 0.3. */
  readonly event: Readonly<Record<string, unknown>>;
}

/** A request that is no notification for us. `status` is what to answer. */
export class PushRejected extends Error {
  override name = 'PushRejected';

  constructor(
    readonly status: 400 | 401 | 404 | 413 | 415,
    message: string,
  ) {
    super(message);
  }
}

/**
 * The receiving end of push notifications: verifies signature, time (five minutes, either way), token and task, and
 * hands each event to the handler once, however often it is sent. A handler that throws gets it again.
 */
export class PushReceiver {
  readonly #webhooks: readonly Webhook[];
  readonly #seen: SeenIds;

  constructor(private readonly options: PushReceiverOptions) {
    this.#webhooks = options.secrets.map((secret) => new Webhook(secret));
    this.#seen = options.seen ?? new MemorySeenIds();
  }

  /**
   * Checks a request. `body` has to be the bytes as they came: parsed and written again they are others.
   * @throws PushRejected
   */
  verify(headers: Headers, body: Uint8Array | string): PushNotification {
    const type = one(headers, 'content-type').split(';', 1)[0]!.trim().toLowerCase();
    if (!TYPES.has(type)) throw new PushRejected(415, `Content type ${type} is not one of a notification`);
    const { token } = this.options;
    const given = one(headers, 'x-a2a-notification-token') || one(headers, 'a2a-notification-token');
    if (token !== undefined && !isSame(token, given)) throw new PushRejected(401, 'The token is another one');
    const text = typeof body === 'string' ? body : Buffer.from(body).toString('utf8');
    const signed = {
      'webhook-id': one(headers, 'webhook-id'),
      'webhook-timestamp': one(headers, 'webhook-timestamp'),
      'webhook-signature': one(headers, 'webhook-signature'),
    };
    if (!this.#webhooks.some((webhook) => verifies(webhook, text, signed))) {
      throw new PushRejected(401, 'The signature is not valid, or too old');
    }
    const event = parse(text);
    const taskId = taskOf(event);
    if (this.options.expects?.(taskId) === false) throw new PushRejected(404, 'The task is not one of ours');
    return { id: signed['webhook-id'], taskId, event };
  }

  /**
   * Checks a request and calls `handle` unless the event was handled before. Answers whether it was called.
   * @throws PushRejected, or what `handle` throws
   */
  async receive(
    headers: Headers,
    body: Uint8Array | string,
    handle: (notification: PushNotification) => void | Promise<void>,
  ): Promise<boolean> {
    const notification = this.verify(headers, body);
    if (await this.#seen.has(notification.id)) return false;
    await handle(notification);
    await this.#seen.add(notification.id);
    return true;
  }

  /** A request handler for `node:http`, and so for Express and others before any body parser. */
  listener(handle: (notification: PushNotification) => void | Promise<void>) {
    return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      let status = 204;
      try {
        const body = await read(request, this.options.maxBytes ?? MOST_BYTES);
        await this.receive(request.headers, body, handle);
      } catch (error) {
        status = error instanceof PushRejected ? error.status : 500;
      }
      response.writeHead(status).end();
    };
  }
}

function verifies(webhook: Webhook, text: string, headers: Record<string, string>): boolean {
  try {
    webhook.verify(text, headers, { jsonParse: false });
    return true;
  } catch {
    return false;
  }
}

/** In a StreamResponse beside the payload or in the task; in 0.3 the event is the task. */
function taskOf(event: PushNotification['event']): string {
  type Payload = { readonly id?: string; readonly taskId?: string } | undefined;
  const { task, statusUpdate, artifactUpdate } = event as Record<string, Payload>;
  return (task ?? (event as Payload))?.id ?? (statusUpdate ?? artifactUpdate)?.taskId ?? '';
}

function parse(text: string): PushNotification['event'] {
  try {
    return JSON.parse(text) as PushNotification['event'];
  } catch {
    throw new PushRejected(400, 'The body is not JSON');
  }
}

async function read(request: IncomingMessage, most: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > most) throw new PushRejected(413, 'The body is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function one(headers: Headers, name: string): string {
  const value = headers[name];
  return (typeof value === 'string' ? value : value?.[0]) ?? '';
}

function isSame(expected: string, given: string): boolean {
  const [a, b] = [Buffer.from(expected), Buffer.from(given)];
  return a.length === b.length && timingSafeEqual(a, b);
}
