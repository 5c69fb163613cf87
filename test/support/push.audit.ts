import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PushReceiver } from '../../src/push/receiver/index.js';

export interface UnreliableOptions {
  readonly secret: string;
  /** Shares of the calls. */
  readonly fails: number;
  readonly hangs: number;
  /** Gives numbers from 0 up to 1. */
  readonly random: () => number;
}

/** A receiver that fails, hangs and goes down, and knows for each config what it took, in order. */
export class UnreliableReceiver {
  /** Numbers of the events that were answered with 2xx, by the path that was posted to. */
  readonly taken = new Map<string, number[]>();
  /** When something last arrived, by path. */
  readonly arrivals = new Map<string, number>();
  readonly faults: string[] = [];
  calls = 0;
  #server: Server | undefined;
  #port = 0;
  readonly #kit: PushReceiver;

  constructor(private readonly options: UnreliableOptions) {
    this.#kit = new PushReceiver({ secrets: [options.secret] });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async up(): Promise<this> {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const status = this.#answer(request.url ?? '', request.headers, Buffer.concat(chunks));
        if (status) response.writeHead(status).end();
      });
    });
    await new Promise<void>((resolve) => this.#server!.listen(this.#port, '127.0.0.1', resolve));
    this.#port = (this.#server.address() as AddressInfo).port;
    return this;
  }

  async down(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    server?.closeAllConnections();
    await new Promise((resolve) => (server ? server.close(resolve) : resolve(undefined)));
  }

  #answer(path: string, headers: Parameters<PushReceiver['verify']>[0], body: Buffer): number | undefined {
    this.calls++;
    this.arrivals.set(path, Date.now());
    const luck = this.options.random();
    if (luck < this.options.hangs) return undefined;
    if (luck < this.options.hangs + this.options.fails) return 503;
    try {
      const { id } = this.#kit.verify(headers, body);
      const taken = this.taken.get(path) ?? [];
      taken.push(Number(id.split('_').at(-1)));
      this.taken.set(path, taken);
      return 204;
    } catch (error) {
      this.faults.push(`${path}: ${String(error)}`);
      return 400;
    }
  }
}

/** The order in which events were taken first. A repeat after a crash is allowed, another order is not. */
export const firsts = (seqs: readonly number[] = []): number[] => [...new Set(seqs)];
