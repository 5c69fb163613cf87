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
  /** Breaks the try off. */
  readonly signal: AbortSignal;
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

  /** Never rejects. */
  async post({ url, headers, body, signal }: WebhookPost): Promise<WebhookAnswer> {
    const start = performance.now();
    try {
      const target = await this.#target(url);
      this.#agent ??= connections(this.options);
      const exchange = { agent: await this.#agent, target, headers, body, signal };
      const { status, retryAfter } = await this.#exchange(exchange);
      const ok = status >= 200 && status < 300;
      return { ok, status, retryAfterMs: ok ? undefined : millisecondsUntil(retryAfter), ms: since(start) };
    } catch (error) {
      return { ok: false, error: reason(error), ms: since(start) };
    }
  }

  /** Through a proxy there is no look-up of ours inside the connection: the name is checked before. */
  #target(url: string): Readonly<URL> | Promise<Readonly<URL>> {
    return this.options.proxy ? this.options.guard.check(url) : this.options.guard.parse(url);
  }

  #exchange({ agent, target, headers, body, signal }: Sending): Promise<Head> {
    const { origin, pathname, search } = target;
    return new Promise((resolve, reject) => {
      const exchange = new Exchange(resolve, reject);
      const timer = setTimeout(() => exchange.abort('timeout'), this.options.timeoutMs);
      const stop = () => exchange.abort('stopped');
      signal.addEventListener('abort', stop);
      exchange.onEnd = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', stop);
      };
      if (signal.aborted) return stop();
      const sent = { 'user-agent': 'Parley', ...headers };
      agent.dispatch({ origin, path: pathname + search, method: 'POST', headers: sent, body }, exchange);
    });
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

interface Sending extends Pick<WebhookPost, 'headers' | 'body' | 'signal'> {
  readonly agent: Dispatcher;
  readonly target: Readonly<URL>;
}

interface Head {
  readonly status: number;
  readonly retryAfter: string | string[] | undefined;
}

/**
 * One request and its answer, without the streams and promises of undici's `request`: pushes are many and their
 * answers are thrown away. An answer is read to its end, so that the connection can be used again; a long one costs
 * the connection.
 */
class Exchange implements Dispatcher.DispatchHandler {
  onEnd: () => void = () => undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #broken: Error | undefined;
  #head: Head | undefined;
  #size = 0;

  constructor(
    private readonly resolve: (head: Head) => void,
    private readonly reject: (error: Error) => void,
  ) {}

  abort(why: string): void {
    this.#broken ??= Object.assign(new Error(why), { code: why });
    this.#controller?.abort(this.#broken);
    // One that still waits for a connection has no controller yet, and must not hold up the next try.
    this.#settle();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#broken) controller.abort(this.#broken);
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status >= 200) this.#head = { status, retryAfter: headers['retry-after'] };
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#size += chunk.length;
    if (this.#size <= MOST_ANSWER_BYTES) return;
    this.#settle();
    controller.abort(new Error('The answer is too long'));
  }

  onResponseEnd(): void {
    this.#settle();
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#broken ??= error;
    this.#settle();
  }

  #settle(): void {
    this.onEnd();
    if (this.#broken) this.reject(this.#broken);
    else if (this.#head) this.resolve(this.#head);
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

const since = (start: number) => Math.round(performance.now() - start);
