import { CallFailure } from './call.failure.mjs';
import { readFrames, readJson, refusal, request } from './http.call.mjs';

const METHODS = { send: 'SendMessage', get: 'GetTask', list: 'ListTasks', cancel: 'CancelTask' };
const STREAMS = { stream: 'SendStreamingMessage', subscribe: 'SubscribeToTask' };

/** @implements {import('./caller.mjs').Caller} */
export class JsonRpcCaller {
  binding = 'JSONRPC';
  #id = 0;

  /** @param {{url: string, headers: Record<string, string>, timeoutMs: number, silenceMs: number}} options */
  constructor(options) {
    this.options = options;
  }

  async call(operation, params) {
    const response = await this.#post(
      METHODS[operation],
      params,
      {},
      AbortSignal.timeout(this.options.timeoutMs),
    );
    return this.#result(await readJson(response));
  }

  async *open(operation, params, lastEventId) {
    const abort = new AbortController();
    const start = setTimeout(() => abort.abort(), this.options.timeoutMs);
    const last = lastEventId === undefined ? {} : { 'last-event-id': String(lastEventId) };
    const response = await this.#post(STREAMS[operation], params, last, abort.signal);
    clearTimeout(start);
    if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
      this.#result(await readJson(response));
      throw new CallFailure('a result in place of a stream', 'NO_STREAM');
    }
    for await (const { id, data } of readFrames(response, { abort, ...this.options })) {
      yield { seq: id, event: this.#result(data) };
    }
  }

  close() {}

  #post(method, params, headers, signal) {
    const { url } = this.options;
    const body = { jsonrpc: '2.0', id: ++this.#id, method, params };
    return request(url, { body, headers: { ...this.options.headers, ...headers }, signal });
  }

  #result({ result, error }) {
    if (error) throw refusal({ message: error.message, details: error.data });
    return result;
  }
}
