import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { until } from './house.js';

/** One POST that arrived. */
export interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly body: Record<string, Record<string, unknown>>;
  readonly url: string;
}

type Behaviour = (received: Received, response: ServerResponse) => void;

export const answers =
  (status: number, headers: Record<string, string> = {}): Behaviour =>
  (_, response) => {
    response.writeHead(status, headers).end();
  };

/** A webhook on a real socket that remembers what it was sent; assign `behaviour` to change what it answers. */
export class WebhookReceiver {
  readonly received: Received[] = [];
  behaviour: Behaviour = answers(200);
  readonly #server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      const received = { headers: request.headers, text, body: JSON.parse(text), url: request.url ?? '' };
      this.received.push(received);
      this.behaviour(received, response);
    });
  });

  static async listen(): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver();
    await new Promise<void>((resolve) => receiver.#server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get url(): string {
    return `http://${this.host}/hook`;
  }

  /** Waits until so many have arrived. */
  async arrived(count: number): Promise<readonly Received[]> {
    await until(() => this.received.length >= count);
    return this.received;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** What each body says: `task`, a state, or the text of an artifact. */
export function said({ body }: Received): string {
  if (body.task) return 'task';
  if (body.statusUpdate) return String((body.statusUpdate.status as { state: string }).state);
  const { parts } = body.artifactUpdate!.artifact as { parts: { text: string }[] };
  return parts[0]!.text;
}
