import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import type { WebhookGuard } from './webhook.guard.js';
import { ForbiddenUrl } from './webhook.guard.js';

const CONNECT_MS = 5_000;
const KEEP_ALIVE_MS = 30_000;
const MOST_ANSWER_BYTES = 64 * 1024;

export interface WebhookClientOptions {
  readonly guard: WebhookGuard;
  readonly timeoutMs: number;
  readonly proxy?: string;
}

export interface WebhookPost {
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** A post under way. */
export interface WebhookTry {
  /** Never rejects. */
  readonly answer: Promise<WebhookAnswer>;
  /** Breaks it off. */
  abort(): void;
}

/** What became of one try. */
export interface WebhookAnswer {
  /** The receiver took it: a 2xx. */
  readonly ok: boolean;
  readonly status?: number;
  /** Why there was no status, in one word, for operators. */
  readonly error?: string;
  /** Milliseconds until the receiver asked to be tried again. */
  readonly retryAfterMs?: number;
  readonly ms: number;
}

/**
 * Posts to receivers over kept connections. Redirects are not followed; of an answer only the status and
 * `Retry-After` are looked at. Every connection goes through the guard.
 */
export class WebhookClient {
  /** Made by the first post: a start does not wait for its library. */
  #agent: Promise<Dispatcher> | undefined;

  constructor(private readonly options: WebhookClientOptions) {}

  post(post: WebhookPost): WebhookTry {
    const exchange = new Exchange(this.options.timeoutMs);
    void this.#send(post, exchange);
    return exchange;
  }

  async #send({ url, headers, body }: WebhookPost, exchange: Exchange): Promise<void> {
    try {
      // Through a proxy there is no look-up of ours inside the connection: the name is checked before.
      const { guard, proxy } = this.options;
      const { origin, pathname, search } = proxy ? await guard.check(url) : guard.parse(url);
      this.#agent ??= connections(this.options);
      const agent = await this.#agent;
      const sent = { 'user-agent': 'Parley', ...headers };
      agent.dispatch({ origin, path: pathname + search, method: 'POST', headers: sent, body }, exchange);
    } catch (error) {
      exchange.fail(error);
    }
  }

  async close(): Promise<void> {
    await (await this.#agent)?.destroy();
  }
}

async function connections({ guard, proxy }: WebhookClientOptions): Promise<Dispatcher> {
  const { Agent, ProxyAgent } = await import('undici');
  const connect = { lookup: guard.lookup, timeout: CONNECT_MS };
  const common = { keepAliveTimeout: KEEP_ALIVE_MS, pipelining: 1 };
  return proxy ? new ProxyAgent({ ...common, uri: proxy }) : new Agent({ ...common, connect });
}

/**
 * One request and its answer, without the streams and promises of undici's `request`: pushes are many and their
 * answers are thrown away. An answer is read to its end, so that the connection can be used again; a long one costs
 * the connection.
 */
class Exchange implements WebhookTry, Dispatcher.DispatchHandler {
  readonly answer: Promise<WebhookAnswer>;
  readonly #start = performance.now();
  readonly #timer: NodeJS.Timeout;
  #resolve!: (answer: WebhookAnswer) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #broken: Error | undefined;
  #status: number | undefined;
  #retryAfter: string | string[] | undefined;
  #size = 0;

  constructor(timeoutMs: number) {
    this.answer = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    this.#timer = setTimeout(() => this.#breakOff('timeout'), timeoutMs);
  }

  abort(): void {
    this.#breakOff('stopped');
  }

  fail(error: unknown): void {
    this.#settle({ ok: false, error: reason(error) });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#broken) controller.abort(this.#broken);
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return;
    this.#status = status;
    this.#retryAfter = headers['retry-after'];
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#size += chunk.length;
    if (this.#size <= MOST_ANSWER_BYTES) return;
    this.onResponseEnd();
    controller.abort(new Error('The answer is too long'));
  }

  onResponseEnd(): void {
    const status = this.#status!;
    const ok = status >= 200 && status < 300;
    this.#settle({ ok, status, retryAfterMs: ok ? undefined : millisecondsUntil(this.#retryAfter) });
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.fail(error);
  }

  /** One that still waits for a connection has no controller yet, and must not hold up the next try. */
  #breakOff(code: string): void {
    this.#broken = Object.assign(new Error(code), { code });
    this.#controller?.abort(this.#broken);
    this.fail(this.#broken);
  }

  /** The first to settle counts. */
  #settle(answer: Omit<WebhookAnswer, 'ms'>): void {
    clearTimeout(this.#timer);
    this.#resolve({ ...answer, ms: Math.round(performance.now() - this.#start) });
  }
}

/** Seconds or a date (RFC 9110, 10.2.3). */
function millisecondsUntil(header: string | string[] | undefined): number | undefined {
  if (typeof header !== 'string') return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return ms > 0 ? ms : undefined;
}

function reason(error: unknown): string {
  if (!(error instanceof Error)) return 'failed';
  if (error instanceof ForbiddenUrl) return 'forbidden address';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
