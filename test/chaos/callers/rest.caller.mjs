import { CallFailure } from './call.failure.mjs';
import { readFrames, readJson, refusal, request } from './http.call.mjs';

/** @implements {import('./caller.mjs').Caller} */
export class RestCaller {
  binding = 'HTTP+JSON';

  /** @param {{url: string, headers: Record<string, string>, timeoutMs: number, silenceMs: number}} options */
  constructor(options) {
    this.options = options;
  }

  async call(operation, params) {
    const response = await this.#send(operation, params, {}, AbortSignal.timeout(this.options.timeoutMs));
    return this.#result(await readJson(response));
  }

  async *open(operation, params, lastEventId) {
    const abort = new AbortController();
    const start = setTimeout(() => abort.abort(), this.options.timeoutMs);
    const last = lastEventId === undefined ? {} : { 'last-event-id': String(lastEventId) };
    const response = await this.#send(operation, params, last, abort.signal);
    clearTimeout(start);
    if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
      this.#result(await readJson(response));
      throw new CallFailure('a result in place of a stream', 'NO_STREAM');
    }
    for await (const { id, event, data } of readFrames(response, { abort, ...this.options })) {
      yield { seq: id, event: event === 'error' ? this.#result(data) : data };
    }
  }

  close() {}

  #send(operation, params, headers, signal) {
    const { method = 'POST', path, body } = ROUTES[operation](params);
    const { url } = this.options;
    return request(`${url}${path}`, {
      method,
      body,
      headers: { ...this.options.headers, ...headers },
      signal,
    });
  }

  #result(body) {
    if (body.error) throw refusal(body.error);
    return body;
  }
}

const ROUTES = {
  send: (body) => ({ path: '/message:send', body }),
  stream: (body) => ({ path: '/message:stream', body }),
  get: ({ id }) => ({ method: 'GET', path: `/tasks/${id}` }),
  list: (query) => ({ method: 'GET', path: `/tasks?${new URLSearchParams(query)}` }),
  cancel: ({ id }) => ({ path: `/tasks/${id}:cancel`, body: {} }),
  subscribe: ({ id }) => ({ method: 'GET', path: `/tasks/${id}:subscribe` }),
};
