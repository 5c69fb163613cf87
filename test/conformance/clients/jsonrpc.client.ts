import type { JsonObject } from '@bufbuild/protobuf';
import { expect } from 'vitest';
import type { OperationName } from '../../../src/protocol/index.js';
import { BindingClient, type Headers, OpenStream, Refused, type Reply } from './binding.client.js';
import { type ErrorDetail, type Refusal, refusalOf } from './refusal.js';
import { readSse } from './sse.reader.js';

interface Envelope {
  readonly jsonrpc: string;
  readonly id: unknown;
  readonly result?: JsonObject;
  readonly error?: { code: number; message: string; data: ErrorDetail[] };
}

/** HTTP statuses that JSON-RPC keeps; everything else is answered with 200. */
const KEPT = [401, 403, 413, 429, 503, 504];

let calls = 0;

export class JsonRpcClient extends BindingClient {
  readonly binding = 'JSON-RPC';

  constructor(private readonly url: string) {
    super();
  }

  protected async unary(operation: OperationName, request: JsonObject, headers: Headers): Promise<Reply> {
    const id = `call-${++calls}`;
    const { response } = await this.#post(operation, { request, headers, id });
    return this.#reply(response, id);
  }

  protected async open(
    operation: OperationName,
    request: JsonObject,
    headers: Headers,
  ): Promise<OpenStream | Reply> {
    const id = `call-${++calls}`;
    const { response, leave } = await this.#post(operation, { request, headers, id });
    if (response.headers.get('content-type') !== 'text/event-stream') return this.#reply(response, id);
    expect(response.status).toBe(200);
    return new OpenStream(framesOf(response, id), Object.fromEntries(response.headers), leave);
  }

  async #post(
    operation: OperationName,
    { request, headers, id }: { request: JsonObject; headers: Headers; id: string },
  ) {
    const method = operation.charAt(0).toUpperCase() + operation.slice(1);
    const leaving = new AbortController();
    const response = await fetch(this.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', id, method, params: request }),
      signal: leaving.signal,
    });
    return { response, leave: () => leaving.abort() };
  }

  async #reply(response: Response, id: string): Promise<Reply> {
    expect(response.headers.get('content-type')).toMatch(/^application\/json\b/);
    const envelope = (await response.json()) as Envelope;
    return { ...open(envelope, id, response.status), headers: Object.fromEntries(response.headers) };
  }
}

function open(envelope: Envelope, id: string, status: number): { result?: JsonObject; refusal?: Refusal } {
  const { error, result } = envelope;
  // Of a body that was not read the id is not known.
  expect(envelope).toMatchObject({ jsonrpc: '2.0', id: status === 413 ? null : id });
  expect(Object.keys(envelope)).toHaveLength(3);
  if (!error) {
    expect(status).toBe(200);
    return { result };
  }
  const kept = KEPT.includes(status) ? { http: status } : {};
  if (!kept.http) expect(status).toBe(200);
  return { refusal: refusalOf(error.message, error.data, { jsonrpc: error.code, ...kept }) };
}

async function* framesOf(response: Response, id: string): AsyncGenerator<JsonObject> {
  for await (const { data, event } of readSse(response.body!)) {
    if (data === undefined) continue;
    const { result, refusal } = open(JSON.parse(data) as Envelope, id, 200);
    if (event === 'error') throw new Refused(refusal!);
    yield result!;
  }
}
