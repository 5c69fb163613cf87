import { Agent, type Dispatcher, ProxyAgent } from 'undici';
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
  readonly #agent: Dispatcher;

  constructor(private readonly options: WebhookClientOptions) {
    const { guard, proxy } = options;
    const connect = { lookup: guard.lookup, timeout: CONNECT_MS };
    const common = { keepAliveTimeout: KEEP_ALIVE_MS, pipelining: 1 };
    this.#agent = proxy ? new ProxyAgent({ ...common, uri: proxy }) : new Agent({ ...common, connect });
  }

  /** Never rejects. */
  async post({ url, headers, body, signal }: WebhookPost): Promise<WebhookAnswer> {
    const start = performance.now();
    const stop = new AbortController();
    const abort = () => stop.abort();
    const timer = setTimeout(abort, this.options.timeoutMs);
    signal.addEventListener('abort', abort);
    try {
      const target = await this.#target(url);
      const answer = await this.#agent.request({
        origin: target.origin,
        path: target.pathname + target.search,
        method: 'POST',
        headers: { 'user-agent': 'Parley', ...headers },
        body,
        signal: stop.signal,
      });
      await discard(answer.body);
      const { statusCode: status } = answer;
      const ok = status >= 200 && status < 300;
      return { ok, status, retryAfterMs: retryAfter(answer.headers['retry-after']), ms: since(start) };
    } catch (error) {
      return { ok: false, error: stop.signal.aborted ? 'timeout' : reason(error), ms: since(start) };
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
    }
  }

  /** Through a proxy there is no look-up of ours inside the connection: the name is checked before. */
  #target(url: string): URL | Promise<URL> {
    return this.options.proxy ? this.options.guard.check(url) : this.options.guard.parse(url);
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}

/** Reads an answer to its end, so that the connection can be used again; a long one costs the connection. */
async function discard(body: Dispatcher.ResponseData['body']): Promise<void> {
  let size = 0;
  for await (const chunk of body) {
    size += (chunk as Buffer).length;
    if (size > MOST_ANSWER_BYTES) break;
  }
}

/** Seconds or a date (RFC 9110, 10.2.3). */
function retryAfter(header: string | string[] | undefined): number | undefined {
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
