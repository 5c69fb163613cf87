import { type Client, status } from '@grpc/grpc-js';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { metadata } from '../support/bindings.js';
import { oldGrpcClient } from '../support/old.bindings.js';
import { ServiceStage } from './stage.js';

const stage = new ServiceStage();

const post = (path: string, body: unknown) =>
  fetch(stage.httpUrl + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
const call = (method: string, params: unknown) => post('/jsonrpc', { jsonrpc: '2.0', id: 1, method, params });

/** A whole object of 0.3, of which the tests leave pieces out. */
const WHOLE = {
  message: {
    kind: 'message',
    messageId: 'm',
    role: 'user',
    parts: [
      { kind: 'text', text: 'a', metadata: { k: 1 } },
      { kind: 'file', file: { bytes: 'AAAA', name: 'n', mimeType: 'text/plain' } },
      { kind: 'data', data: { k: null } },
    ],
    metadata: { k: [1] },
    extensions: ['https://e.example/x'],
    referenceTaskIds: ['t'],
  },
  configuration: {
    blocking: true,
    historyLength: 1,
    acceptedOutputModes: ['text/plain'],
    pushNotificationConfig: {
      url: 'https://h.example',
      authentication: { schemes: ['Bearer'], credentials: 'c' },
    },
  },
  metadata: { k: 1 },
};

/** Everything that the object is with one of its members, at whatever depth, gone or replaced. */
function* damaged(value: unknown, by: unknown): Generator<unknown> {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, member] of Object.entries(value)) {
    const changed = (replaced: unknown) =>
      Array.isArray(value)
        ? value.map((item, index) => (`${index}` === name ? replaced : item))
        : { ...value, [name]: replaced };
    yield changed(by);
    for (const inner of damaged(member, by)) yield changed(inner);
  }
}

/** A reply, or an error that blames the client by one of the codes of 0.3. */
async function blames(response: Response): Promise<void> {
  const text = await response.text();
  const { error } = JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text);
  if (error) expect(error.code, text).not.toBe(-32603);
  expect(response.status, text).toBeLessThan(500);
}

describe('A partial object of 0.3', () => {
  it.each([undefined, null, 7, 'x', [], {}, [[]]])(
    'with %j for any of its members is read or refused (B114)',
    async (by) => {
      for (const params of damaged(WHOLE, by)) await blames(await call('message/send', params));
    },
  );
});

describe('Whatever JSON is thrown at 0.3', () => {
  const names = [
    'id',
    'message',
    'messageId',
    'role',
    'parts',
    'content',
    'kind',
    'text',
    'file',
    'bytes',
    'uri',
  ];
  const more = [
    'data',
    'metadata',
    'configuration',
    'blocking',
    'pushNotificationConfig',
    'schemes',
    'taskId',
  ];
  const words = ['user', 'agent', 'ROLE_USER', 'text', 'file', 'data', 'message', '\u0000', '\ud800', 'AA=='];
  const { json } = fc.letrec<{ json: unknown }>((tie) => ({
    json: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom(null, true, false, 0, -1, 1.5, 2 ** 60, '', ...words),
      fc.string(),
      fc.array(tie('json'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom(...names, ...more, '__proto__', 'x'), tie('json'), { maxKeys: 5 }),
    ),
  }));

  it('over JSON-RPC is answered, and never with a fault of ours (B114)', async () => {
    const methods = ['message/send', 'message/stream', 'tasks/get', 'tasks/cancel', 'tasks/resubscribe'];
    const configs = ['set', 'get', 'list', 'delete'].map((name) => `tasks/pushNotificationConfig/${name}`);
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...methods, ...configs), json, async (method, params) => {
        await blames(await call(method, params));
      }),
      { numRuns: 250 },
    );
  });

  it('over HTTP+JSON is answered, and never with a fault of ours (B114)', async () => {
    const paths = ['/message:send', '/message:stream', '/tasks/x:cancel', '/tasks/x/pushNotificationConfigs'];
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...paths), json, async (path, body) => {
        await blames(await post(`/rest/v1${path}`, body));
      }),
      { numRuns: 250 },
    );
  });
});

describe('Whatever bytes are thrown at a2a.v1', () => {
  let stub: Client;
  beforeAll(() => {
    stub = oldGrpcClient(stage.grpcAddress);
  });
  afterAll(() => stub.close());

  it('are answered, and never with a fault of ours (B114)', async () => {
    const blame = [
      0,
      status.INVALID_ARGUMENT,
      status.NOT_FOUND,
      status.FAILED_PRECONDITION,
      status.UNIMPLEMENTED,
    ];
    const rpcs = fc.constantFrom('SendMessage', 'GetTask', 'CancelTask', 'ListTaskPushNotificationConfig');
    await fc.assert(
      fc.asyncProperty(rpcs, fc.uint8Array({ maxLength: 60 }), async (rpc, bytes) => {
        const code = await new Promise<number>((resolve) => {
          const write = () => Buffer.from(bytes);
          const path = `/a2a.v1.A2AService/${rpc}`;
          stub.makeUnaryRequest(
            path,
            write,
            (reply) => reply,
            {},
            metadata({}),
            (error) => resolve(error?.code ?? 0),
          );
        });
        expect(blame).toContain(code);
      }),
      { numRuns: 150 },
    );
  });

  it('and all that came before leave no fault in the log', () => {
    const faults = stage.service
      .output()
      .split('\n')
      .filter((line) => /"level":"(error|fatal)"/.test(line));
    expect(faults).toEqual([]);
  });
});
