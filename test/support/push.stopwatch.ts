import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

const STATUS_TIME = /"timestamp":"([^"]+)"/;

/** A receiver that takes everything at once, and knows how old each status was when it came. */
export class PushStopwatch {
  /** Milliseconds from the time of a status, which is before its commit, to its POST. */
  readonly ages: number[] = [];
  count = 0;
  #from = 0;
  #to = 0;
  readonly #server: Server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8');
    request.on('data', (chunk: string) => {
      text += chunk;
    });
    request.on('end', () => {
      this.#take(text);
      response.writeHead(204).end();
    });
  });

  static async listen(): Promise<PushStopwatch> {
    const stopwatch = new PushStopwatch();
    await new Promise<void>((resolve) => stopwatch.#server.listen(0, '127.0.0.1', resolve));
    return stopwatch;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  /** Pushes per second, from the first to the last since the reset. */
  get rate(): number {
    return (this.count / (this.#to - this.#from)) * 1000;
  }

  reset(): void {
    this.ages.length = 0;
    this.count = 0;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #take(text: string): void {
    const now = performance.timeOrigin + performance.now();
    if (this.count++ === 0) this.#from = now;
    this.#to = now;
    if (!text.startsWith('{"statusUpdate"')) return;
    const at = STATUS_TIME.exec(text)?.[1];
    if (at) this.ages.push(now - Date.parse(at));
  }
}
