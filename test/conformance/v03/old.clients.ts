import { createRegistry, fromBinary, type JsonObject, type JsonValue, toJson } from '@bufbuild/protobuf';
import { AnySchema } from '@bufbuild/protobuf/wkt';
import type { Client, ServiceError } from '@grpc/grpc-js';
import { expect } from 'vitest';
import { file_google_rpc_error_details } from '../../../src/protocol/gen/google/rpc/error_details_pb.js';
import { StatusSchema } from '../../../src/protocol/gen/google/rpc/status_pb.js';
import type { OperationName } from '../../../src/protocol/index.js';
import { metadata, unary } from '../../support/bindings.js';
import { oldGrpcClient } from '../../support/old.bindings.js';
import { fromStub, toStub } from '../clients/grpc.values.js';
import {
  BindingClient,
  type ErrorDetail,
  type Headers,
  OpenStream,
  type Refusal,
  type Reply,
  readSse,
  refusalOf,
} from '../clients/index.js';
import { byKind, type Form, frameFrom, kindForm, NoWord, protoForm, sendTo, taskFrom } from './words.js';

type Json = Record<string, JsonValue>;

interface Asked {
  readonly url: string;
  readonly method: string;
  readonly body?: Json;
}

interface ErrorJson {
  readonly code: number;
  readonly message: string;
  readonly data: readonly ErrorDetail[];
}

interface Answered {
  readonly result?: Json;
  readonly error?: ErrorJson;
}

const refusal = ({ code, message, data }: ErrorJson) => refusalOf(message, data, { jsonrpc: code });

/** Clients of 0.3 are asked, and answer, in the words of 1.0, so that both can be held to the same cases. */
abstract class OldHttpClient extends BindingClient {
  protected abstract readonly form: Form;

  constructor(protected readonly base: string) {
    super();
  }

  /** @throws NoWord for an operation that the binding has not in 0.3 */
  protected abstract ask(operation: OperationName, request: JsonObject): Asked;
  protected abstract read(body: Json): Answered;
  /** An object that may be of several kinds, as the member that 1.0 has it in. */
  protected abstract frame(result: Json): Json;

  protected async unary(operation: OperationName, request: JsonObject, given: Headers): Promise<Reply> {
    const { response } = await this.#fetch(operation, request, given);
    expect(response.headers.get('content-type')).toMatch(/^application\/json\b/);
    const { result, error } = this.read((await response.json()) as Json);
    const headers = Object.fromEntries(response.headers);
    if (error) return { refusal: refusal(error), headers };
    if (operation !== 'sendMessage') return { result: taskFrom(this.form, result!), headers };
    return { result: frameFrom(this.form, this.frame(result!)), headers };
  }

  protected async open(operation: OperationName, request: JsonObject, given: Headers) {
    const { response, leave } = await this.#fetch(operation, request, given);
    const headers = Object.fromEntries(response.headers);
    if (response.headers.get('content-type') !== 'text/event-stream') {
      return { refusal: refusal(this.read((await response.json()) as Json).error!), headers };
    }
    const events = this.#events(response);
    const first = await events.next();
    if (first.value?.error) return { refusal: refusal(first.value.error), headers };
    return new OpenStream(this.#frames(first, events), headers, leave);
  }

  async *#events(response: Response): AsyncGenerator<Answered> {
    for await (const { data } of readSse(response.body!)) {
      if (data !== undefined) yield this.read(JSON.parse(data) as Json);
    }
  }

  async *#frames(
    first: IteratorResult<Answered>,
    rest: AsyncGenerator<Answered>,
  ): AsyncGenerator<JsonObject> {
    for (let next = first; !next.done; next = await rest.next()) {
      yield frameFrom(this.form, this.frame(next.value.result!));
    }
  }

  async #fetch(operation: OperationName, request: JsonObject, headers: Headers) {
    const { url, method, body } = this.ask(operation, request);
    const leaving = new AbortController();
    const content = body ? { 'content-type': 'application/json' } : {};
    const response = await fetch(url, {
      method,
      headers: { ...content, ...inOld(headers) },
      body: body && JSON.stringify(body),
      signal: leaving.signal,
    } as RequestInit);
    return { response, leave: () => leaving.abort() };
  }
}

/** The header that 1.0 needs is left out; a case that sends another version is none of 0.3. */
function inOld({ 'a2a-version': version, ...headers }: Headers): Headers {
  if (version !== '1.0') throw new NoWord('the case is about versions');
  return headers;
}

const METHODS: Partial<Record<OperationName, string>> = {
  sendMessage: 'message/send',
  sendStreamingMessage: 'message/stream',
  getTask: 'tasks/get',
  cancelTask: 'tasks/cancel',
  subscribeToTask: 'tasks/resubscribe',
};

export class OldJsonRpcClient extends OldHttpClient {
  readonly binding = 'JSON-RPC';
  protected readonly form = kindForm;
  protected readonly frame = byKind;

  protected ask(operation: OperationName, request: JsonObject): Asked {
    const method = METHODS[operation];
    if (!method) throw new NoWord(`0.3 has no ${operation} over JSON-RPC`);
    const params = operation.startsWith('send') ? sendTo(this.form, request) : request;
    return { url: this.base, method: 'POST', body: { jsonrpc: '2.0', id: 1, method, params } as Json };
  }

  protected read(body: Json): Answered {
    return body as Answered;
  }
}

const ROUTES: Partial<Record<OperationName, string>> = {
  sendMessage: 'POST /message:send',
  sendStreamingMessage: 'POST /message:stream',
  getTask: 'GET /tasks/{id}',
  cancelTask: 'POST /tasks/{id}:cancel',
  subscribeToTask: 'GET /tasks/{id}:subscribe',
};

export class OldRestClient extends OldHttpClient {
  readonly binding = 'HTTP+JSON';
  protected readonly form = protoForm;
  protected readonly frame = (json: Json) => json;

  protected ask(operation: OperationName, request: JsonObject): Asked {
    const route = ROUTES[operation];
    if (!route) throw new NoWord(`0.3 has no ${operation} over HTTP+JSON`);
    const [method, template] = route.split(' ') as [string, string];
    if (operation.startsWith('send'))
      return { url: this.base + template, method, body: sendTo(this.form, request) };
    const { id, historyLength, ...others } = request;
    if (Object.keys(others).length > 0 || historyLength === 0) throw new NoWord(`0.3 asks for ids alone`);
    const query = historyLength === undefined ? '' : `?historyLength=${historyLength}`;
    return { url: this.base + template.replace('{id}', encodeURIComponent(String(id))) + query, method };
  }

  protected read(body: Json): Answered {
    return typeof body.code === 'number' ? { error: body as unknown as ErrorJson } : { result: body };
  }
}

const RPCS: Partial<Record<OperationName, string>> = {
  sendMessage: 'SendMessage',
  sendStreamingMessage: 'SendStreamingMessage',
  getTask: 'GetTask',
  cancelTask: 'CancelTask',
  subscribeToTask: 'TaskSubscription',
};

export class OldGrpcClient extends BindingClient {
  readonly binding = 'gRPC';
  readonly #stub: Client;

  constructor(
    address: string,
    private readonly agent: string,
  ) {
    super();
    this.#stub = oldGrpcClient(address);
  }

  override close(): void {
    this.#stub.close();
  }

  protected async unary(operation: OperationName, request: JsonObject, given: Headers): Promise<Reply> {
    const { rpc, message } = this.#ask(operation, request);
    const { error, reply } = await unary(this.#stub, rpc, message, this.#metadata(given));
    if (error) return { refusal: grpcRefusal(error), headers: {} };
    const json = read(reply!);
    if (operation !== 'sendMessage') return { result: taskFrom(protoForm, json), headers: {} };
    return { result: frameFrom(protoForm, json), headers: {} };
  }

  protected async open(operation: OperationName, request: JsonObject, given: Headers) {
    const { rpc, message } = this.#ask(operation, request);
    const stub = this.#stub as unknown as Record<
      string,
      (request: object, metadata: object) => AsyncIterable<object> & { cancel(): void }
    >;
    const call = stub[rpc]!(message, this.#metadata(given));
    const frames = framesOf(call);
    try {
      const first = await frames.next();
      return new OpenStream(after(first, frames), {}, () => call.cancel());
    } catch (error) {
      return { refusal: grpcRefusal(error as ServiceError), headers: {} };
    }
  }

  #metadata(headers: Headers) {
    return metadata({ ...inOld(headers), ...(this.agent && { 'a2a-tenant': this.agent }) });
  }

  #ask(operation: OperationName, request: JsonObject): { rpc: string; message: object } {
    const rpc = RPCS[operation];
    if (!rpc) throw new NoWord(`0.3 has no ${operation} over gRPC`);
    if (operation.startsWith('send')) {
      const { message, ...rest } = sendTo(protoForm, request) as { message?: JsonValue };
      return { rpc, message: asStub({ request: message, ...rest }) };
    }
    const { id, historyLength, ...others } = request;
    if (Object.keys(others).length > 0 || historyLength === 0) throw new NoWord('0.3 asks for names alone');
    return { rpc, message: { name: `tasks/${id}`, historyLength } };
  }
}

/** Data is a Struct within a message of its own, and files are bytes by another name. */
function asStub(json: unknown, name = ''): object {
  if (name === 'metadata' || name === 'struct') return toStub(json as JsonValue, 'metadata') as object;
  if (name === 'fileWithBytes') return Buffer.from(json as string, 'base64');
  if (Array.isArray(json)) return json.map((item) => asStub(item));
  if (typeof json !== 'object' || json === null) return json as never;
  const entries = Object.entries(json).map(([key, value]) => [
    key,
    key === 'data' ? { data: asStub((value as Json).data, 'struct') } : asStub(value, key),
  ]);
  return Object.fromEntries(entries);
}

/** From a stub's object to ProtoJSON: `update`, `msg` and `request` are called `message` in JSON. */
function read(value: unknown, name = ''): Json {
  if (name === 'metadata' || name === 'struct') return fromStub(value, 'metadata') as Json;
  if (name === 'timestamp' || value instanceof Buffer) return fromStub(value, name) as never;
  if (Array.isArray(value)) return value.map((item) => read(item)) as never;
  if (typeof value !== 'object' || value === null) return value as never;
  const members = Object.entries(value).filter(
    ([key, member]) => !(['payload', 'part', 'file'].includes(key) && typeof member === 'string'),
  );
  const entries = members.map(([key, member]) => {
    const called = key === 'update' || key === 'msg' ? 'message' : key;
    return [
      called,
      key === 'data' ? { data: read((member as { data: unknown }).data, 'struct') } : read(member, key),
    ];
  });
  return Object.fromEntries(entries);
}

async function* framesOf(call: AsyncIterable<object>): AsyncGenerator<JsonObject> {
  for await (const frame of call) yield frameFrom(protoForm, read(frame));
}

async function* after(first: IteratorResult<JsonObject>, rest: AsyncGenerator<JsonObject>) {
  if (first.done) return;
  yield first.value;
  yield* rest;
}

const registry = createRegistry(file_google_rpc_error_details);

function grpcRefusal(error: ServiceError): Refusal {
  const [bytes] = error.metadata?.get('grpc-status-details-bin') ?? [];
  if (!(bytes instanceof Buffer)) throw error;
  const { code, message, details } = fromBinary(StatusSchema, bytes);
  expect(code).toBe(error.code);
  const json = details.map((detail) => toJson(AnySchema, detail, { registry })) as unknown as ErrorDetail[];
  return refusalOf(message, json, {});
}
