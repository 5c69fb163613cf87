import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import type { WebhookGuard } from './webhook.guard.js';
import { ForbiddenUrl } from './webhook.guard.js';

const CONNECT_MS = 5_000;
const KEEP_ALIVE_MS = 30_000;
/** Time for the rest of an answer whose status is known, for the sake of the connection. */
const REST_MS = 1_000;
const MOST_ANSWER_BYTES = 64 * 1024;
/** What becomes of a post over a connection that the other side, or something between, has given up meanwhile. */
const CONNECTION_LOST = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

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
 * Posts to receivers over kept connections; once more over a new one where a connection breaks before there is an answer,
 * as a kept one may have been given up meanwhile. Redirects are not followed; of an answer only the status and
 * `Retry-After` are looked at. Every connection goes through the guard.
 */
export class WebhookClient {
  /** Made by the first post: a start does not wait for its library. */
  #connections: Promise<Connections> | undefined;

  constructor(private readonly options: WebhookClientOptions) {}

  post(post: WebhookPost): WebhookTry {
    const exchange = new Exchange(this.options.timeoutMs, () => void this.#send(post, exchange, 'fresh'));
    void this.#send(post, exchange, 'kept');
    return exchange;
  }

  async #send(
    { url, headers, body }: WebhookPost,
    exchange: Exchange,
    kind: keyof Connections,
  ): Promise<void> {
    try {
      // Through a proxy there is no look-up of ours inside the connection: the name is checked before.
      const { guard, proxy } = this.options;
      const { origin, pathname, search } = proxy ? await guard.check(url) : guard.parse(url);
      this.#connections ??= connections(this.options);
      const agent = (await this.#connections)[kind];
      const sent = { 'user-agent': 'Parley', ...headers };
      agent.dispatch({ origin, path: pathname + search, method: 'POST', headers: sent, body }, exchange);
    } catch (error) {
      exchange.fail(error);
    }
  }

  async close(): Promise<void> {
    const { kept, fresh } = (await this.#connections) ?? {};
    await Promise.all([kept?.destroy(), fresh?.destroy()]);
  }
}

interface Connections {
  readonly kept: Dispatcher;
  /** Each for one post. */
  readonly fresh: Dispatcher;
}

async function connections({ guard, proxy }: WebhookClientOptions): Promise<Connections> {
  const { Agent, ProxyAgent } = await import('undici');
  const connect = { lookup: guard.lookup, timeout: CONNECT_MS };
  const agent = (pipelining: number) => {
    // The time of a try is over before any of the library's.
    const common = { keepAliveTimeout: KEEP_ALIVE_MS, pipelining, headersTimeout: 0, bodyTimeout: 0 };
    return proxy ? new ProxyAgent({ ...common, uri: proxy }) : new Agent({ ...common, connect });
  };
  return { kept: agent(1), fresh: agent(0) };
}

/**
 * One request and its answer, without the streams and promises of undici's `request`: pushes are many and their
 * answers are thrown away. The status says all; the rest of an answer is read for a moment, so that the connection can
 * be used again. One that is long or slow costs the connection.
 */
class Exchange implements WebhookTry, Dispatcher.DispatchHandler {
  readonly answer: Promise<WebhookAnswer>;
  readonly #start = performance.now();
  #again: (() => void) | undefined;
  #timer: NodeJS.Timeout;
  #resolve!: (answer: WebhookAnswer) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #broken: Error | undefined;
  #status: number | undefined;
  #retryAfter: string | string[] | undefined;
  #size = 0;

  /** `again`: makes the request once more, over a new connection. */
  constructor(timeoutMs: number, again: () => void) {
    this.#again = again;
    this.answer = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    this.#timer = setTimeout(() => this.#breakOff('timeout'), timeoutMs);
  }

  abort(): void {
    this.#breakOff('stopped');
  }

  /** Ends without an answer, or in the middle of one. */
  fail(error: unknown): void {
    if (this.#status !== undefined) this.#answered(this.#status);
    else this.#settle({ ok: false, error: reason(error) });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#broken) controller.abort(this.#broken);
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return;
    this.#status = status;
    this.#retryAfter = headers['retry-after'];
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#breakOff('slow'), REST_MS);
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#size += chunk.length;
    if (this.#size > MOST_ANSWER_BYTES) this.#breakOff('long');
  }

  onResponseEnd(): void {
    this.#answered(this.#status!);
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    const again = this.#status === undefined && !this.#broken && isLost(error) ? this.#again : undefined;
    this.#again = undefined;
    if (again) again();
    else this.fail(error);
  }

  /** One that still waits for a connection has no controller yet, and must not hold up the next try. */
  #breakOff(code: string): void {
    this.#broken = Object.assign(new Error(code), { code });
    this.#controller?.abort(this.#broken);
    this.fail(this.#broken);
  }

  #answered(status: number): void {
    const ok = status >= 200 && status < 300;
    this.#settle({ ok, status, retryAfterMs: ok ? undefined : millisecondsUntil(this.#retryAfter) });
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

const isLost = (error: Error) => 'code' in error && CONNECTION_LOST.has(String(error.code));

function reason(error: unknown): string {
  if (!(error instanceof Error)) return 'failed';
  if (error instanceof ForbiddenUrl) return 'forbidden address';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
