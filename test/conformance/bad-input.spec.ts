import { connect } from 'node:net';
import { type Client, status } from '@grpc/grpc-js';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { grpcClient, metadata } from '../support/bindings.js';
import { ROUTES } from './clients/index.js';
import { ServiceStage } from './stage.js';
import { says, send, textOf } from './task.calls.js';

type Bytes = string | Uint8Array<ArrayBuffer>;

const LIMIT = 300_000;
const stage = new ServiceStage({ PARLEY_MAX_BODY_BYTES: String(LIMIT) });

afterEach(async () => {
  for (const client of stage.everyone()) {
    expect(textOf((await send(client, 'still here')).artifacts[0])).toBe('still here');
  }
});

/** Expects an error of ours: a status that blames the client, and an ErrorInfo in JSON. */
async function blamed(response: Response, statuses?: number[]): Promise<void> {
  const text = await response.text();
  const about = `${response.status} ${text}`;
  expect(response.status, about).toBeLessThan(500);
  if (statuses) expect(statuses, about).toContain(response.status);
  expect(response.headers.get('content-type'), about).toMatch(/^application\/(a2a\+)?json/);
  const { error } = JSON.parse(text);
  const details: { reason?: string }[] = error.data ?? error.details;
  expect(details[0]?.reason, about).toMatch(/^[A-Z_]+$/);
}

const post = (path: string, body: Bytes, headers: Record<string, string> = {}) =>
  fetch(stage.httpUrl + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0', ...headers },
    body,
  });

const BODIES: [string, Bytes][] = [
  ['half an object', '{"message":'],
  ['no UTF-8', Uint8Array.of(0x7b, 0xc3, 0x28, 0x7d)],
  ['UTF-16', Uint8Array.from(Buffer.from('{"message":{}}', 'utf16le'))],
  ['a number', '7'],
  ['a list', '[]'],
  ['null', 'null'],
  ['a message that is a text', '{"message":"hi"}'],
  ['a message that is a list', '{"message":[{}]}'],
  ['parts that are an object', '{"message":{"messageId":"m","role":"ROLE_USER","parts":{"text":"a"}}}'],
  ['a role that is none', '{"message":{"messageId":"m","role":"ROLE_KING","parts":[{"text":"a"}]}}'],
  ['metadata that is a list', JSON.stringify({ message: says('a'), metadata: [] })],
  [
    'a number beyond int32',
    JSON.stringify({ message: says('a'), configuration: { historyLength: 2 ** 40 } }),
  ],
  ['ten thousand brackets', `{"message":${'['.repeat(10_000)}`],
  ['a value nested too deep', `{"metadata":${'{"a":'.repeat(200)}1${'}'.repeat(200)}}`],
  [
    'a number beyond a double',
    JSON.stringify({ message: says('a') }).replace('"a"', '"a","metadata":{"n":1e999}'),
  ],
];

describe('A body that is', () => {
  it.each(BODIES)('%s is refused on HTTP+JSON', async (_name, body) => {
    await blamed(await post('/rest/message:send', body), [400]);
    await blamed(await post('/rest/message:stream', body), [400]);
  });
  it.each(BODIES)('%s is refused as params of JSON-RPC', async (_name, body) => {
    const start = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":');
    const params = typeof body === 'string' ? Buffer.from(body) : Buffer.from(body as Uint8Array);
    await blamed(await post('/jsonrpc', Buffer.concat([start, params, Buffer.from('}')])), [200]);
    await blamed(await post('/jsonrpc', body), [200]);
  });

  it.each(['/jsonrpc', '/rest/message:send', '/rest/tasks/x:cancel', '/agents/echo/rest/message:stream'])(
    'too large is refused at %s, announced or not',
    async (path) => {
      await blamed(await post(path, 'x'.repeat(LIMIT + 1)), [413]);
      await blamed(await post(path, 'x'.repeat(LIMIT * 4)), [413]);
      const chunks = new ReadableStream({
        start(controller) {
          for (let n = 0; n < 4; n++) controller.enqueue(new Uint8Array(LIMIT / 2));
          controller.close();
        },
      });
      const init = {
        method: 'POST',
        body: chunks,
        duplex: 'half',
        headers: { 'content-type': 'application/json' },
      };
      await blamed(await fetch(stage.httpUrl + path, init as RequestInit), [413]);
    },
  );
});

describe('A request that is', () => {
  it.each([
    ['no HTTP at all', 'HELLO\r\n\r\n', 400],
    ['HTTP with a broken header', 'GET /rest/tasks HTTP/1.1\r\nHost: x\r\nBad Header\r\n\r\n', 400],
    [
      'HTTP with endless headers',
      `GET /rest/tasks HTTP/1.1\r\nHost: x\r\nX: ${'a'.repeat(40_000)}\r\n\r\n`,
      431,
    ],
    [
      'a path that does not decode',
      'GET /rest/tasks/%ff HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
      400,
    ],
  ])('%s is answered in JSON', async (_name, bytes, code) => {
    const { hostname, port } = new URL(stage.httpUrl);
    const answer = await new Promise<string>((resolve, reject) => {
      let text = '';
      const socket = connect(Number(port), hostname, () => socket.write(bytes));
      socket.on('data', (part) => {
        text += part;
      });
      socket.on('error', reject);
      socket.on('close', () => resolve(text));
    });
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${code} `));
    expect(JSON.parse(answer.split('\r\n\r\n')[1]!)).toHaveProperty('error.details');
  });

  it.each([
    "x' OR 1=1 --",
    'x"; DROP TABLE tasks; --',
    '00000000-0000-4000-8000-000000000000\u0000',
    '../../etc/passwd',
    'x'.repeat(900),
  ])('an id like %j finds nothing and breaks nothing (S002-166)', async (id) => {
    for (const client of stage.everyone()) {
      for (const operation of ['getTask', 'cancelTask', 'subscribeToTask'] as const) {
        const { refusal } = await client.call(operation, { id });
        expect(['TASK_NOT_FOUND', 'INVALID_PARAMS']).toContain(refusal?.reason);
      }
    }
    for (const client of stage.clients()) {
      const { result, refusal } = await client.call('listTasks', { contextId: id });
      expect(result?.tasks ?? []).toEqual([]);
      if (refusal) expect(new Set(refusal.fields)).toEqual(new Set(['contextId']));
    }
  });
});

describe('gRPC', () => {
  let stub: Client;
  beforeAll(() => {
    stub = grpcClient(stage.grpcAddress);
  });
  afterAll(() => stub.close());

  const send = (rpc: string, bytes: Uint8Array) =>
    new Promise<number>((resolve) => {
      const path = `/lf.a2a.v1.A2AService/${rpc}`;
      const write = () => Buffer.from(bytes);
      stub.makeUnaryRequest(
        path,
        write,
        (reply) => reply,
        {},
        metadata(),
        (error) => resolve(error?.code ?? 0),
      );
    });

  it.each(Object.keys(ROUTES))('blames the client for bytes that %s does not read', async (operation) => {
    const rpc = operation.charAt(0).toUpperCase() + operation.slice(1);
    for (const bytes of [Uint8Array.of(0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f), Buffer.from('{"id":"x"}')]) {
      expect([status.INVALID_ARGUMENT, status.FAILED_PRECONDITION]).toContain(await send(rpc, bytes));
    }
  });

  it('knows no other rpc, and takes no message beyond the limit', async () => {
    expect(await send('DropTables', Uint8Array.of())).toBe(status.UNIMPLEMENTED);
    expect(await send('SendMessage', new Uint8Array(LIMIT + 1))).toBe(status.RESOURCE_EXHAUSTED);
  });

  it('blames the client for whatever bytes are thrown at it', async () => {
    const guilty = [0, status.INVALID_ARGUMENT, status.NOT_FOUND, status.FAILED_PRECONDITION];
    const rpcs = fc.constantFrom('SendMessage', 'GetTask', 'ListTasks', 'CancelTask');
    await fc.assert(
      fc.asyncProperty(rpcs, fc.uint8Array({ maxLength: 60 }), async (rpc, bytes) => {
        expect(guilty).toContain(await send(rpc, bytes));
      }),
      { numRuns: 150 },
    );
  });
});

describe('Whatever JSON is thrown', () => {
  const names = [
    'id',
    'message',
    'messageId',
    'role',
    'parts',
    'text',
    'raw',
    'data',
    'taskId',
    'contextId',
    'tenant',
  ];
  const more = [
    'configuration',
    'historyLength',
    'pageSize',
    'status',
    'metadata',
    'extensions',
    'returnImmediately',
  ];
  const words = [
    'ROLE_USER',
    'TASK_STATE_WORKING',
    'echo',
    '\u0000',
    '\ud800',
    '2020-01-01T00:00:00Z',
    'AA==',
  ];
  const { json } = fc.letrec<{ json: unknown }>((tie) => ({
    json: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom(null, true, false, 0, -1, 1.5, 2 ** 60, '', ...words),
      fc.string(),
      fc.array(tie('json'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom(...names, ...more, '__proto__', 'x'), tie('json'), { maxKeys: 5 }),
    ),
  }));
  const operations = fc.constantFrom(...Object.keys(ROUTES));

  /** A reply, or an error that blames the client. */
  async function answers(response: Response): Promise<void> {
    if (response.headers.get('content-type') === 'text/event-stream') await response.body?.cancel();
    else if (response.ok && !response.url.endsWith('/jsonrpc')) await response.arrayBuffer();
    else {
      const { error, result } = (await response.json()) as { error?: { code: number }; result?: unknown };
      expect(response.status).toBeLessThan(500);
      if (!result) expect(error?.code).not.toBe(-32603);
    }
  }

  it('at JSON-RPC is answered, and never with a fault of ours', async () => {
    await fc.assert(
      fc.asyncProperty(operations, json, async (operation, params) => {
        const method = operation.charAt(0).toUpperCase() + operation.slice(1);
        await answers(await post('/jsonrpc', JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })));
      }),
      { numRuns: 250 },
    );
  });

  it('at HTTP+JSON is answered, and never with a fault of ours', async () => {
    await fc.assert(
      fc.asyncProperty(operations, json, fc.string(), async (operation, body, id) => {
        const [method, template] = ROUTES[operation as keyof typeof ROUTES].split(' ') as [string, string];
        const path = template.replace(/\{\w+\}/g, encodeURIComponent(id.toWellFormed()));
        const query = new URLSearchParams(
          Object.entries(body ?? {}).map(([key, value]): [string, string] => [key, JSON.stringify(value)]),
        );
        await answers(
          await fetch(`${stage.httpUrl}/rest${path}${method === 'POST' ? '' : `?${query}`}`, {
            method,
            headers: { 'content-type': 'application/a2a+json', 'a2a-version': '1.0' },
            body: method === 'POST' ? JSON.stringify(body) : undefined,
          }),
        );
      }),
      { numRuns: 250 },
    );
  });

  it('leaves no fault in the log', () => {
    const faults = stage.service
      .output()
      .split('\n')
      .filter((line) => /"level":"(error|fatal)"/.test(line));
    expect(faults).toEqual([]);
  });
});
