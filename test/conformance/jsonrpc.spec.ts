import type { JsonValue } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { ServiceStage } from './stage.js';
import { says } from './task.calls.js';

const stage = new ServiceStage();

/** Text and bytes go out as they are, anything else as JSON. */
type Body = string | Uint8Array<ArrayBuffer> | JsonValue;

interface Envelope {
  readonly id: JsonValue;
  readonly result?: Record<string, JsonValue>;
  readonly error?: { code: number; message: string; data: Record<string, JsonValue>[] };
}

async function post(body: Body, { path = '/jsonrpc', headers = {} } = {}) {
  const response = await fetch(stage.httpUrl + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0', ...headers },
    body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
  });
  return { response, envelope: (await response.json()) as Envelope };
}

const call = (method: string, params: JsonValue = {}, id: JsonValue = 1) =>
  post({ jsonrpc: '2.0', id, method, params });

describe('JSON-RPC', () => {
  it('is one URL, POST and application/json (S002-135)', async () => {
    const { response, envelope } = await call('ListTasks');
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toMatch(/^application\/json/);
    expect(envelope.result).toHaveProperty('tasks');
    const get = await fetch(`${stage.httpUrl}/jsonrpc`);
    expect(get.status).toBe(405);
    expect(get.headers.get('allow')).toBe('POST');
  });

  it.each(['message/send', 'tasks/get', 'sendMessage', 'sendmessage', 'SendMessage ', 'constructor', ''])(
    'knows no method %j in 1.0 (S002-135)',
    async (method) => {
      const { response, envelope } = await call(method);
      expect(response.status).toBe(200);
      expect(envelope.error?.code).toBe(-32601);
    },
  );

  it.each<[string, Body, number, JsonValue]>([
    ['bytes that are no JSON', '{"jsonrpc": "2.0", ', -32700, null],
    ['nothing', '', -32700, null],
    ['bytes that are no UTF-8', Uint8Array.of(0x22, 0xff, 0x22), -32700, null],
    ['a batch', [{ jsonrpc: '2.0', id: 1, method: 'ListTasks' }], -32600, null],
    ['a text', '"ListTasks"', -32600, null],
    ['null', 'null', -32600, null],
    ['another version of JSON-RPC', { jsonrpc: '1.0', id: 7, method: 'ListTasks' }, -32600, 7],
    ['no id', { jsonrpc: '2.0', method: 'ListTasks' }, -32600, null],
    ['an id that is an object', { jsonrpc: '2.0', id: {}, method: 'ListTasks' }, -32600, null],
    ['no method', { jsonrpc: '2.0', id: 7 }, -32600, 7],
    ['a method that is a number', { jsonrpc: '2.0', id: 7, method: 1 }, -32600, 7],
    ['params that are a list', { jsonrpc: '2.0', id: 7, method: 'ListTasks', params: [] }, -32602, 7],
    ['params that do not fit', { jsonrpc: '2.0', id: 7, method: 'GetTask', params: { id: 1 } }, -32602, 7],
    ['no task', { jsonrpc: '2.0', id: 7, method: 'GetTask', params: { id: 'x' } }, -32001, 7],
  ])(
    'answers %s in HTTP 200 with the code that it has (S002-136, S004-33)',
    async (_name, body, code, id) => {
      const { response, envelope } = await post(body);
      expect(response.status).toBe(200);
      expect(envelope).toMatchObject({ jsonrpc: '2.0', id, error: { code } });
      expect(envelope).not.toHaveProperty('result');
    },
  );

  it.each([0, 42, -1, 'text', '', '日本', null])('echoes the id %j as it is (S002-137)', async (id) => {
    for (const [method, params] of [
      ['ListTasks', {}],
      ['GetTask', { id: 'x' }],
      ['Nothing', {}],
    ] as const) {
      expect((await call(method, params, id)).envelope.id).toBe(id);
    }
  });

  it('brings ErrorInfo in error.data (S002-138)', async () => {
    const { error } = (await call('GetTask', { id: 'x' })).envelope;
    expect(error?.data[0]).toEqual({
      '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
      reason: 'TASK_NOT_FOUND',
      domain: 'a2a-protocol.org',
      metadata: { taskId: 'x' },
    });
  });

  it('takes the agent from params.tenant (S002-139, B58)', async () => {
    const { envelope } = await call('SendMessage', {
      tenant: 'conformance',
      message: says('', { messageId: 'tck-complete-task-x' }),
    });
    expect(envelope.result).toHaveProperty('task.status.message.parts', [{ text: 'Hello from TCK' }]);
    expect((await call('ListTasks', { tenant: 'nobody' })).envelope.error?.code).toBe(-32000);
    const params = { tenant: 'echo' };
    const body = { jsonrpc: '2.0', id: 1, method: 'ListTasks', params };
    const { envelope: other } = await post(body, { path: '/agents/deployer/jsonrpc' });
    expect(other.error?.code).toBe(-32602);
  });
});
