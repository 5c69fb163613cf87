import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Bindings, startBindings } from '../../../test/support/bindings.js';
import { fakeAgent } from '../../../test/support/fake.agents.js';
import { HELLO } from '../../../test/support/fake.operations.js';
import { A2AError } from '../../protocol/index.js';

let bindings: Bindings;
beforeAll(async () => {
  bindings = await startBindings({
    agents: [fakeAgent(), fakeAgent({ id: 'other', extensions: [{ uri: 'https://e.example/x' }] })],
  });
});
afterAll(() => bindings.app.close());
beforeEach(() => void bindings.operations.calls.splice(0));

type Headers = Record<string, string>;
const JSON_HEADERS: Headers = { 'content-type': 'application/json', 'a2a-version': '1.0' };

interface Answer {
  readonly status: number;
  readonly headers: globalThis.Headers;
  readonly body: {
    readonly jsonrpc: string;
    readonly id: unknown;
    readonly result?: Record<string, unknown>;
    readonly error?: { code: number; message: string; data: { reason?: string; metadata?: object }[] };
  };
}

async function post(
  body: string | Uint8Array<ArrayBuffer>,
  headers = JSON_HEADERS,
  path = '/jsonrpc',
): Promise<Answer> {
  const response = await fetch(bindings.url + path, { method: 'POST', body, headers });
  return { status: response.status, headers: response.headers, body: await response.json() } as Answer;
}

const rpc = (method: string, params: unknown = HELLO, id: unknown = 1) =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params });

describe('The JSON-RPC binding', () => {
  it('answers a call with the id of the request and the result as ProtoJSON', async () => {
    const { status, headers, body } = await post(rpc('SendMessage', HELLO, 'call-7'));

    expect(status).toBe(200);
    expect(headers.get('content-type')).toMatch(/^application\/json/);
    expect(headers.get('a2a-version')).toBe('1.0');
    expect(body).toMatchObject({
      jsonrpc: '2.0',
      id: 'call-7',
      result: {
        task: {
          id: 'task-1',
          status: { state: 'TASK_STATE_COMPLETED', timestamp: '2026-01-02T03:04:05.006Z' },
          history: [{ messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'hello' }] }],
        },
      },
    });
  });

  it.each([0, -3, 42, 'text', '', 'ä"\\', null])('echoes the id %j with its type', async (id) => {
    expect((await post(rpc('GetTask', { id: 'task-9' }, id))).body.id).toBe(id);
    expect((await post(rpc('GetTask', { id: 'unknown' }, id))).body.id).toBe(id);
  });

  it.each(['/jsonrpc', '/jsonrpc/', '/agents/other/jsonrpc', '/agents/other/jsonrpc/'])(
    'answers at %s',
    async (path) => {
      expect((await post(rpc('GetTask', { id: 't' }), JSON_HEADERS, path)).body.result).toMatchObject({
        id: 't',
      });
      expect(bindings.operations.last.call.agent).toBe(path.includes('other') ? 'other' : 'echo');
    },
  );

  it('takes the agent from the tenant at the root address, and no other one at an agent address', async () => {
    await post(rpc('GetTask', { id: 't', tenant: 'other' }));
    expect(bindings.operations.last.call.agent).toBe('other');
    const at = (path: string, tenant: string) =>
      post(rpc('GetTask', { id: 't', tenant }), JSON_HEADERS, path);

    expect((await at('/agents/other/jsonrpc', 'other')).body.error).toBeUndefined();
    expect((await at('/agents/other/jsonrpc', 'echo')).body.error?.code).toBe(-32602);
    expect((await at('/agents/nobody/jsonrpc', '')).body.error?.data[0]?.reason).toBe('NOT_FOUND');
    expect((await at('/jsonrpc', 'nobody')).body.error?.data[0]?.reason).toBe('NOT_FOUND');
  });

  it('passes traceparent and extensions on, and echoes the activated ones alone', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const extra = { traceparent, 'a2a-extensions': 'https://unknown.example/1, https://e.example/x' };
    const { headers } = await post(rpc('GetTask', { id: 't', tenant: 'other' }), {
      ...JSON_HEADERS,
      ...extra,
    });

    expect(headers.get('a2a-extensions')).toBe('https://e.example/x');
    expect(bindings.operations.last.call).toMatchObject({
      traceparent: expect.stringContaining('0af7651916cd43dd8448eb211c80319c'),
      extensions: ['https://e.example/x'],
    });
  });

  const BAD: [name: string, body: string | Uint8Array<ArrayBuffer>, code: number, id: unknown][] = [
    ['an empty body', '', -32700, null],
    ['malformed JSON', '{"jsonrpc":', -32700, null],
    ['bad UTF-8', new Uint8Array([0x22, 0xff, 0xfe, 0x22]), -32700, null],
    ['two JSON texts', '{} {}', -32700, null],
    ['a batch', `[${rpc('GetTask')}]`, -32600, null],
    ['an empty batch', '[]', -32600, null],
    ['null', 'null', -32600, null],
    ['a number', '17', -32600, null],
    ['no jsonrpc member', '{"id":5,"method":"GetTask"}', -32600, 5],
    ['jsonrpc 1.0', '{"jsonrpc":"1.0","id":"a","method":"GetTask"}', -32600, 'a'],
    ['no id', '{"jsonrpc":"2.0","method":"GetTask","params":{"id":"t"}}', -32600, null],
    ['an object as id', '{"jsonrpc":"2.0","id":{},"method":"GetTask"}', -32600, null],
    ['a fraction as id', '{"jsonrpc":"2.0","id":1.5,"method":"GetTask"}', -32600, null],
    [
      'an id that JSON numbers cannot hold',
      '{"jsonrpc":"2.0","id":12345678901234567890,"method":"GetTask"}',
      -32600,
      null,
    ],
    ['no method', '{"jsonrpc":"2.0","id":1}', -32600, 1],
    ['a number as method', '{"jsonrpc":"2.0","id":1,"method":2}', -32600, 1],
    ['params as array', rpc('GetTask', ['t']), -32602, 1],
    ['params as text', rpc('GetTask', 't'), -32602, 1],
    ['an unknown method', rpc('DropTables'), -32601, 1],
    ['a 0.3 name on 1.0', rpc('message/send'), -32601, 1],
    ['a missing field', rpc('GetTask', {}), -32602, 1],
    ['a wrong type', rpc('GetTask', { id: 5 }), -32602, 1],
    ['a wrong type of tenant', rpc('GetTask', { id: 't', tenant: 5 }), -32602, 1],
    ['nesting beyond the limit', `${'['.repeat(200)}${']'.repeat(200)}`, -32602, null],
  ];
  it.each(BAD)('answers %s with a typed error in HTTP 200', async (_name, body, code, id) => {
    const answer = await post(body);

    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ jsonrpc: '2.0', id, error: { code, message: expect.any(String) } });
    expect(answer.body.error?.data[0]).toMatchObject({ '@type': 'type.googleapis.com/google.rpc.ErrorInfo' });
    expect(bindings.operations.calls).toEqual([]);
  });

  it('takes null params as none', async () => {
    expect((await post(rpc('ListTasks', null))).body.result).toMatchObject({ totalSize: 1 });
  });

  it.each([
    ['application/json', undefined],
    ['application/json; charset=utf-8', undefined],
    ['APPLICATION/JSON;charset=iso-8859-1', undefined],
    ['application/a2a+json', -32005],
    ['text/plain', -32005],
    ['no/type/at/all', -32005],
  ])('takes a body of type %s as it should (B111)', async (type, code) => {
    const answer = await post(rpc('GetTask', { id: 't' }), { ...JSON_HEADERS, 'content-type': type });
    expect(answer).toMatchObject({ status: 200 });
    expect(answer.body.error?.code).toBe(code);
  });

  it('refuses a body without a type (B111)', async () => {
    const bytes = new TextEncoder().encode(rpc('GetTask', { id: 't' }));
    expect((await post(bytes, { 'a2a-version': '1.0' })).body.error?.code).toBe(-32005);
  });

  describe('without a version that is served (B104)', () => {
    it.each<Headers>([{}, { 'a2a-version': '' }, { 'a2a-version': '0.3' }, { 'a2a-version': '99.0' }])(
      '%j',
      async (version) => {
        const headers = { 'content-type': 'application/json', ...version };
        for (const method of ['SendMessage', 'SendStreamingMessage', 'GetTask', 'message/send']) {
          const { status, body } = await post(rpc(method), headers);
          expect(status).toBe(200);
          expect(body.error).toMatchObject({
            code: -32009,
            message: expect.stringContaining('A2A-Version: 1.0'),
          });
        }
      },
    );

    it.each(['1.0', '1.0.1', ' 1.0 '])('takes %j for 1.0', async (version) => {
      const headers = { 'content-type': 'application/json', 'a2a-version': version };
      expect((await post(rpc('GetTask', { id: 't' }), headers)).body.error).toBeUndefined();
    });

    it('reads the query where there is no header', async () => {
      const headers = { 'content-type': 'application/json' };
      const answer = await post(rpc('GetTask', { id: 't' }), headers, '/jsonrpc?A2A-Version=1.0');
      expect(answer.body.error).toBeUndefined();
    });
  });

  it('gives what HTTP has a word for its HTTP status, other errors 200 (B106)', async () => {
    const { operations } = bindings;
    const { getTask } = operations;
    const answerTo = async (error: unknown) => {
      operations.getTask = () => Promise.reject(error);
      const { status, headers, body } = await post(rpc('GetTask', { id: 't' }));
      return { status, code: body.error?.code, retryAfter: headers.get('retry-after') };
    };
    try {
      expect(await answerTo(new A2AError('taskNotFound'))).toMatchObject({ status: 200, code: -32001 });
      expect(await answerTo(new A2AError('permissionDenied'))).toMatchObject({ status: 403, code: -32000 });
      expect(await answerTo(new A2AError('unavailable', { retryAfter: 7 }))).toMatchObject({
        status: 503,
        code: -32000,
        retryAfter: '7',
      });
      expect(await answerTo(new A2AError('internal'))).toMatchObject({ status: 200, code: -32603 });
    } finally {
      operations.getTask = getTask;
    }
  });

  it('tells nothing of an unknown exception but a trace id (B107)', async () => {
    const { operations } = bindings;
    const { getTask } = operations;
    operations.getTask = () => Promise.reject(new Error('password=x at /srv/app.js'));
    const { body } = await post(rpc('GetTask', { id: 't' }));
    operations.getTask = getTask;

    expect(body.error).toMatchObject({ code: -32603 });
    expect(JSON.stringify(body)).not.toMatch(/password|srv/);
    expect(JSON.stringify(body.error?.data)).toMatch(/[0-9a-f]{32}/);
  });

  it('answers only POST', async () => {
    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH']) {
      const response = await fetch(`${bindings.url}/agents/other/jsonrpc`, { method });
      expect(response.status).toBe(405);
      expect(response.headers.get('allow')).toBe('POST');
      expect(await response.json()).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: -32000 } });
    }
  });
});
