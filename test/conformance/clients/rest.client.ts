import type { JsonObject } from '@bufbuild/protobuf';
import { expect } from 'vitest';
import type { OperationName } from '../../../src/protocol/index.js';
import { BindingClient, type Headers, OpenStream, Refused, type Reply } from './binding.client.js';
import { type ErrorDetail, type Refusal, refusalOf } from './refusal.js';
import { readSse } from './sse.reader.js';

/** The routes as section 11 has them. */
export const ROUTES: Readonly<Record<OperationName, string>> = {
  sendMessage: 'POST /message:send',
  sendStreamingMessage: 'POST /message:stream',
  getTask: 'GET /tasks/{id}',
  listTasks: 'GET /tasks',
  cancelTask: 'POST /tasks/{id}:cancel',
  subscribeToTask: 'POST /tasks/{id}:subscribe',
  createTaskPushNotificationConfig: 'POST /tasks/{taskId}/pushNotificationConfigs',
  getTaskPushNotificationConfig: 'GET /tasks/{taskId}/pushNotificationConfigs/{id}',
  listTaskPushNotificationConfigs: 'GET /tasks/{taskId}/pushNotificationConfigs',
  deleteTaskPushNotificationConfig: 'DELETE /tasks/{taskId}/pushNotificationConfigs/{id}',
  getExtendedAgentCard: 'GET /extendedAgentCard',
};

const TYPE = 'application/a2a+json';

interface Status {
  readonly error: { code: number; status: string; message: string; details: ErrorDetail[] };
}

export class RestClient extends BindingClient {
  readonly binding = 'HTTP+JSON';

  constructor(private readonly base: string) {
    super();
  }

  protected async unary(operation: OperationName, request: JsonObject, headers: Headers): Promise<Reply> {
    const { response } = await this.#fetch(operation, request, headers);
    return reply(response);
  }

  protected async open(
    operation: OperationName,
    request: JsonObject,
    headers: Headers,
  ): Promise<OpenStream | Reply> {
    const { response, leave } = await this.#fetch(operation, request, headers);
    if (response.headers.get('content-type') !== 'text/event-stream') return reply(response);
    expect(response.status).toBe(200);
    return new OpenStream(framesOf(response), Object.fromEntries(response.headers), leave);
  }

  async #fetch(operation: OperationName, request: JsonObject, headers: Headers) {
    const [method, template] = ROUTES[operation].split(' ') as [string, string];
    const rest = { ...request };
    const path = template.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = rest[name];
      delete rest[name];
      return encodeURIComponent(String(value ?? ''));
    });
    const query = new URLSearchParams(
      Object.entries(rest).map(([name, value]): [string, string] => [name, String(value)]),
    );
    const isBody = method === 'POST';
    const leaving = new AbortController();
    const response = await fetch(this.base + path + (isBody || query.size === 0 ? '' : `?${query}`), {
      method,
      headers: isBody ? { 'content-type': TYPE, ...headers } : headers,
      body: isBody ? JSON.stringify(rest) : undefined,
      signal: leaving.signal,
    });
    return { response, leave: () => leaving.abort() };
  }
}

async function reply(response: Response): Promise<Reply> {
  expect(response.headers.get('content-type')).toContain(TYPE);
  const headers = Object.fromEntries(response.headers);
  const body = await response.json();
  if (response.status === 200) return { result: body as JsonObject, headers };
  return { refusal: read(body as Status, response.status), headers };
}

function read({ error }: Status, status: number): Refusal {
  expect(error.code).toBe(status);
  expect(error.status).toMatch(/^[A-Z_]+$/);
  return refusalOf(error.message, error.details, { http: status });
}

async function* framesOf(response: Response): AsyncGenerator<JsonObject> {
  for await (const { data, event } of readSse(response.body!)) {
    if (data === undefined) continue;
    const body = JSON.parse(data);
    if (event === 'error') throw new Refused(read(body as Status, (body as Status).error.code));
    yield body as JsonObject;
  }
}
