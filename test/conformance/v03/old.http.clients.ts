import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { expect } from 'vitest';
import type { OperationName } from '../../../src/protocol/index.js';
import {
  BindingClient,
  type Codes,
  type ErrorDetail,
  type Headers,
  OpenStream,
  Refused,
  type Reply,
  readSse,
} from '../clients/index.js';
import { oldRefusal } from './old.refusal.js';
import {
  byKind,
  configTo,
  type Form,
  frameFrom,
  inModern,
  inOld,
  type Json,
  kindForm,
  NoWord,
  only,
  protoForm,
  sendTo,
  taskFrom,
} from './words.js';

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
  readonly result?: JsonValue;
  readonly error?: ErrorJson;
}

/** Clients of 0.3 are asked, and answer, in the words of 1.0, so that both can be held to the same cases. */
abstract class OldHttpClient extends BindingClient {
  override readonly version = '0.3';
  protected abstract readonly form: Form;

  constructor(protected readonly base: string) {
    super();
  }

  /** @throws NoWord for an operation that the binding has not in 0.3 */
  protected abstract ask(operation: OperationName, request: JsonObject): Asked;
  protected abstract read(body: Json): Answered;
  /** An object that may be of several kinds, as the member that 1.0 has it in. */
  protected abstract frame(result: Json): Json;
  /** The codes of an error that this binding shows. */
  protected abstract codes(error: ErrorJson, status: number): Partial<Codes>;

  protected async unary(operation: OperationName, request: JsonObject, given: Headers): Promise<Reply> {
    const { response } = await this.#fetch(operation, request, given);
    expect(response.headers.get('content-type')).toMatch(/^application\/json\b/);
    const { result, error } = this.read((await response.json()) as Json);
    const headers = inModern(Object.fromEntries(response.headers));
    if (error) return { refusal: this.#refusal(error, response), headers };
    expect(response.status).toBe(200);
    return { result: this.#result(operation, result), headers };
  }

  #result(operation: OperationName, result: JsonValue | undefined): Json {
    if (operation === 'sendMessage') return frameFrom(this.form, this.frame(result as Json));
    if (operation === 'getTask' || operation === 'cancelTask') return taskFrom(this.form, result as Json);
    if (operation !== 'listTasks') return { result: result ?? null };
    const { tasks, ...page } = result as Json;
    return { ...page, tasks: (tasks as Json[]).map((task) => taskFrom(this.form, task)) };
  }

  protected async open(operation: OperationName, request: JsonObject, given: Headers) {
    const { response, leave } = await this.#fetch(operation, request, given);
    const headers = inModern(Object.fromEntries(response.headers));
    if (response.headers.get('content-type') !== 'text/event-stream') {
      const { error } = this.read((await response.json()) as Json);
      return { refusal: this.#refusal(error!, response), headers };
    }
    const events = this.#events(response);
    const first = await events.next();
    if (first.value?.error) return { refusal: this.#refusal(first.value.error, response), headers };
    return new OpenStream(this.#frames(first, events, response), headers, leave);
  }

  async *#events(response: Response): AsyncGenerator<Answered> {
    for await (const { data } of readSse(response.body!)) {
      if (data !== undefined) yield this.read(JSON.parse(data) as Json);
    }
  }

  async *#frames(first: IteratorResult<Answered>, rest: AsyncGenerator<Answered>, response: Response) {
    for (let next = first; !next.done; next = await rest.next()) {
      const { result, error } = next.value;
      if (error) throw new Refused(this.#refusal(error, response));
      yield frameFrom(this.form, this.frame(result as Json));
    }
  }

  #refusal(error: ErrorJson, { status }: Response) {
    return oldRefusal(error.message, error.data, this.codes(error, status));
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

const METHODS: Partial<Record<OperationName, string>> = {
  sendMessage: 'message/send',
  sendStreamingMessage: 'message/stream',
  getTask: 'tasks/get',
  cancelTask: 'tasks/cancel',
  subscribeToTask: 'tasks/resubscribe',
  createTaskPushNotificationConfig: 'tasks/pushNotificationConfig/set',
  getTaskPushNotificationConfig: 'tasks/pushNotificationConfig/get',
  listTaskPushNotificationConfigs: 'tasks/pushNotificationConfig/list',
  deleteTaskPushNotificationConfig: 'tasks/pushNotificationConfig/delete',
  getExtendedAgentCard: 'agent/getAuthenticatedExtendedCard',
};

/** HTTP statuses that JSON-RPC keeps; everything else is answered with 200. */
const KEPT = [401, 403, 413, 429, 503, 504];

export class OldJsonRpcClient extends OldHttpClient {
  readonly binding = 'JSON-RPC';
  protected readonly form = kindForm;
  protected readonly frame = byKind;

  protected ask(operation: OperationName, request: JsonObject): Asked {
    const method = METHODS[operation];
    if (!method) throw new NoWord(`0.3 has no ${operation} over JSON-RPC`);
    const body = { jsonrpc: '2.0', id: 1, method, params: this.#params(operation, request) };
    return { url: this.base, method: 'POST', body };
  }

  #params(operation: OperationName, request: JsonObject): Json {
    if (operation.startsWith('send')) return sendTo(this.form, request);
    if (!operation.includes('PushNotificationConfig')) return request;
    const { taskId, id, ...rest } = request as Json;
    if (operation.startsWith('create'))
      return { taskId: taskId!, pushNotificationConfig: configTo({ id, ...rest }) };
    return { id: taskId!, ...(id === undefined ? {} : { pushNotificationConfigId: id }) };
  }

  protected read(body: Json): Answered {
    return body as Answered;
  }

  protected codes({ code: jsonrpc }: ErrorJson, http: number): Partial<Codes> {
    if (KEPT.includes(http)) return { jsonrpc, http };
    expect(http).toBe(200);
    return { jsonrpc };
  }
}

const ROUTES: Readonly<Record<OperationName, string>> = {
  sendMessage: 'POST /message:send',
  sendStreamingMessage: 'POST /message:stream',
  getTask: 'GET /tasks/{id}',
  listTasks: 'GET /tasks',
  cancelTask: 'POST /tasks/{id}:cancel',
  subscribeToTask: 'GET /tasks/{id}:subscribe',
  createTaskPushNotificationConfig: 'POST /tasks/{taskId}/pushNotificationConfigs',
  getTaskPushNotificationConfig: 'GET /tasks/{taskId}/pushNotificationConfigs/{id}',
  listTaskPushNotificationConfigs: 'GET /tasks/{taskId}/pushNotificationConfigs',
  deleteTaskPushNotificationConfig: 'DELETE /tasks/{taskId}/pushNotificationConfigs/{id}',
  getExtendedAgentCard: 'GET /card',
};

/** What each route has beside its path. */
const QUERIES: Partial<Record<OperationName, readonly string[]>> = {
  getTask: ['historyLength'],
  listTasks: [
    'contextId',
    'status',
    'statusTimestampAfter',
    'pageSize',
    'pageToken',
    'historyLength',
    'includeArtifacts',
  ],
};

export class OldRestClient extends OldHttpClient {
  readonly binding = 'HTTP+JSON';
  protected readonly form = protoForm;
  protected readonly frame = (json: Json) => json;

  protected ask(operation: OperationName, request: JsonObject): Asked {
    const [method, template] = ROUTES[operation].split(' ') as [string, string];
    const { rest, path } = filled(template, request as Json);
    const url = this.base + path;
    if (operation.startsWith('send')) return { url, method, body: sendTo(this.form, request) };
    if (operation.startsWith('create')) {
      return { url, method, body: { pushNotificationConfig: configTo(rest) } };
    }
    only(rest, ...(QUERIES[operation] ?? []));
    const query = new URLSearchParams(
      Object.entries(rest).map(([name, value]): [string, string] => [name, String(value)]),
    );
    return { url: query.size > 0 ? `${url}?${query}` : url, method };
  }

  protected read(body: Json): Answered {
    return typeof body.code === 'number' ? { error: body as unknown as ErrorJson } : { result: body };
  }

  /** In a stream that has begun the status is that of the stream. */
  protected codes({ code: jsonrpc }: ErrorJson, http: number): Partial<Codes> {
    return http === 200 ? { jsonrpc } : { jsonrpc, http };
  }
}

/** The path, and what is left of the request. */
function filled(template: string, request: Json): { path: string; rest: Json } {
  const rest = { ...request };
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = rest[name];
    delete rest[name];
    return encodeURIComponent(String(value ?? ''));
  });
  return { path, rest };
}
