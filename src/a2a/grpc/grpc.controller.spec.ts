import { type ClientHttp2Session, connect } from 'node:http2';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { type Client, type ClientReadableStream, type ServiceError, status } from '@grpc/grpc-js';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Bindings, grpcClient, metadata, startBindings, unary } from '../../../test/support/bindings.js';
import { fakeAgent } from '../../../test/support/fake.agents.js';
import { chunk } from '../../../test/support/fake.operations.js';
import { health, reflected } from '../../../test/support/grpc.services.js';
import { ErrorInfoSchema } from '../../protocol/gen/google/rpc/error_details_pb.js';
import { StatusSchema } from '../../protocol/gen/google/rpc/status_pb.js';
import { A2AError, type EventStream, SubscribeToTaskRequestSchema } from '../../protocol/index.js';

/** The machine may be busy; what is waited for comes or does not. */
const eventually = (check: () => void) => vi.waitFor(check, { timeout: 10_000 });

let bindings: Bindings;
let client: Client;
beforeAll(async () => {
  bindings = await startBindings({
    agents: [fakeAgent(), fakeAgent({ id: 'other', extensions: [{ uri: 'https://e.example/x' }] })],
    env: { PARLEY_MAX_BODY_BYTES: '100000' },
  });
  client = grpcClient(bindings.grpc);
});
afterAll(async () => {
  client.close();
  await bindings.app.close();
});
beforeEach(() => void bindings.operations.calls.splice(0));

const HELLO = { message: { messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'hello' }] } };

function errorInfo(error: ServiceError | undefined) {
  const [details] = error?.metadata.get('grpc-status-details-bin') ?? [];
  const decoded = fromBinary(StatusSchema, details as Buffer);
  const info = decoded.details.find(({ typeUrl }) => typeUrl.endsWith('google.rpc.ErrorInfo'));
  return { code: decoded.code, info: fromBinary(ErrorInfoSchema, info!.value) };
}

function openStream(rpc: string, request: object, options: { deadline?: number } = {}, given = metadata()) {
  const method = (client as unknown as Record<string, (...given: unknown[]) => ClientReadableStream<Frame>>)[
    rpc
  ]!;
  return method.call(client, request, given, options);
}

interface Frame {
  readonly artifactUpdate: { readonly artifact: { readonly parts: { readonly text: string }[] } };
}

async function read(stream: ClientReadableStream<Frame>) {
  const texts: string[] = [];
  let error: ServiceError | undefined;
  stream.on('data', (frame) => texts.push(frame.artifactUpdate.artifact.parts[0]!.text));
  await new Promise<void>((resolve) => {
    stream.on('error', (failed: ServiceError) => {
      error = failed;
      resolve();
    });
    stream.on('end', resolve);
  });
  return { texts, error };
}

/** Asks for a stream and reads none of it. grpc-js cannot play this: its client reads ahead. */
function silentReader(request: Uint8Array): ClientHttp2Session {
  const session = connect(`http://${bindings.grpc}`);
  const stream = session.request({
    ':method': 'POST',
    ':path': '/lf.a2a.v1.A2AService/SubscribeToTask',
    'content-type': 'application/grpc',
    te: 'trailers',
    'a2a-version': '1.0',
  });
  session.on('error', () => {});
  stream.on('error', () => {});
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(request.length, 1);
  stream.end(Buffer.concat([prefix, request]));
  return session;
}

describe('The gRPC binding', { timeout: 20_000 }, () => {
  it('answers a call of a client on stubs from the proto file', async () => {
    const { error, reply, headers } = await unary(client, 'SendMessage', HELLO);

    expect(error).toBeUndefined();
    expect(reply).toMatchObject({
      task: { id: 'task-1', status: { state: 'TASK_STATE_COMPLETED' }, history: [{ messageId: 'm-1' }] },
    });
    expect(headers?.get('a2a-version')).toEqual(['1.0']);
  });

  it('answers every unary operation', async () => {
    const requests: Record<string, object> = {
      GetTask: { id: 't' },
      ListTasks: {},
      CancelTask: { id: 't' },
      CreateTaskPushNotificationConfig: { taskId: 't', url: 'https://hook.example' },
      GetTaskPushNotificationConfig: { taskId: 't', id: 'c' },
      ListTaskPushNotificationConfigs: { taskId: 't' },
      DeleteTaskPushNotificationConfig: { taskId: 't', id: 'c' },
      GetExtendedAgentCard: {},
    };
    for (const [rpc, request] of Object.entries(requests)) {
      expect((await unary(client, rpc, request)).error, rpc).toBeUndefined();
    }
    expect(bindings.operations.calls).toHaveLength(8);
  });

  it('routes by the tenant alone', async () => {
    await unary(client, 'GetTask', { id: 't' });
    await unary(client, 'GetTask', { id: 't', tenant: 'other' });
    expect(bindings.operations.calls.map(({ call }) => call.agent)).toEqual(['echo', 'other']);

    const { error } = await unary(client, 'GetTask', { id: 't', tenant: 'nobody' });
    expect(error?.code).toBe(status.NOT_FOUND);
  });

  it('asks for the version on every operation (S002-147)', async () => {
    const given: Record<string, string>[] = [
      {},
      ...['', '0.3', '9.9'].map((version) => ({ 'a2a-version': version })),
    ];
    for (const version of given) {
      const { error } = await unary(client, 'GetTask', { id: 't' }, metadata(version));
      expect(error?.code).toBe(status.FAILED_PRECONDITION);
      expect(errorInfo(error).info.reason).toBe('VERSION_NOT_SUPPORTED');
      const stream = await read(openStream('SubscribeToTask', { id: 't' }, {}, metadata(version)));
      expect(stream.error?.code).toBe(status.FAILED_PRECONDITION);
    }
    for (const version of ['1.0', '1.0.7']) {
      const { error } = await unary(client, 'GetTask', { id: 't' }, metadata({ 'a2a-version': version }));
      expect(error).toBeUndefined();
    }
  });

  it('takes extensions, trace and last event number from metadata (B105)', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const given = metadata({ 'a2a-version': '1.0', traceparent, 'a2a-last-event-id': '12' });
    given.add('a2a-extensions', 'https://unknown.example/1');
    given.add('a2a-extensions', 'https://e.example/x');
    const { headers } = await unary(client, 'GetTask', { id: 't', tenant: 'other' }, given);

    expect(headers?.get('a2a-extensions')).toEqual(['https://e.example/x']);
    const { extensions, traceparent: passed, lastEventId } = bindings.operations.last.call;
    expect({ extensions, passed, lastEventId }).toEqual({
      extensions: ['https://e.example/x'],
      passed: expect.stringContaining('0af7651916cd43dd8448eb211c80319c'),
      lastEventId: 12,
    });
  });

  it('gives errors with their details in the trailer (B106)', async () => {
    const { error } = await unary(client, 'GetTask', { id: 'unknown' });

    expect(error).toMatchObject({ code: status.NOT_FOUND, details: 'There is no such task' });
    expect(errorInfo(error)).toMatchObject({
      code: status.NOT_FOUND,
      info: { reason: 'TASK_NOT_FOUND', domain: 'a2a-protocol.org' },
    });
  });

  it.each([
    ['GetTask', {}],
    ['SendMessage', {}],
    ['SendMessage', { message: { messageId: 'm', role: 'ROLE_USER', parts: [] } }],
    ['SendMessage', { message: { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'a' }] } }],
    ['ListTasks', { pageSize: 101 }],
  ])('refuses a bad %s %j as INVALID_ARGUMENT', async (rpc, request) => {
    const { error } = await unary(client, rpc, request);
    expect(error?.code).toBe(status.INVALID_ARGUMENT);
    expect(bindings.operations.calls).toEqual([]);
  });

  it('answers bytes that do not decode with INVALID_ARGUMENT, on a stream too', async () => {
    const bytes = Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f]);
    const send = (rpc: string) =>
      new Promise<ServiceError | null>((resolve) => {
        const path = `/lf.a2a.v1.A2AService/${rpc}`;
        client.makeUnaryRequest(
          path,
          () => bytes,
          (reply) => reply,
          {},
          metadata(),
          (error) => resolve(error),
        );
      });
    expect((await send('SendMessage'))?.code).toBe(status.INVALID_ARGUMENT);
    expect((await send('SubscribeToTask'))?.code).toBe(status.INVALID_ARGUMENT);
    expect(errorInfo((await send('GetTask'))!).info.reason).toBe('INVALID_PARAMS');
  });

  it('answers an unknown rpc with UNIMPLEMENTED', async () => {
    const error = await new Promise<ServiceError | null>((resolve) => {
      const path = '/lf.a2a.v1.A2AService/DropTables';
      client.makeUnaryRequest(
        path,
        () => Buffer.alloc(0),
        (reply) => reply,
        {},
        metadata(),
        (e) => resolve(e),
      );
    });
    expect(error?.code).toBe(status.UNIMPLEMENTED);
  });

  it('refuses a message beyond the limit and keeps the connection (B113)', async () => {
    const big = { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x'.repeat(100_000) }] } };
    const { error } = await unary(client, 'SendMessage', big);
    expect(error?.code).toBe(status.RESOURCE_EXHAUSTED);

    const near = { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x'.repeat(99_000) }] } };
    expect((await unary(client, 'SendMessage', near)).error).toBeUndefined();
  });

  it('tells nothing of an unknown exception but a trace id (B107)', async () => {
    const { getTask } = bindings.operations;
    bindings.operations.getTask = () => Promise.reject(new Error('password=x'));
    const { error } = await unary(client, 'GetTask', { id: 't' });
    bindings.operations.getTask = getTask;

    expect(error?.code).toBe(status.INTERNAL);
    expect(JSON.stringify(error)).not.toContain('password');
    expect(JSON.stringify(errorInfo(error).info.metadata)).toMatch(/[0-9a-f]{32}/);
  });

  it('carries a stream to its end and closes it with OK', async () => {
    const { texts, error } = await read(openStream('SendStreamingMessage', HELLO));
    expect(texts).toEqual(['chunk 1 ', 'chunk 2 ', 'chunk 3 ']);
    expect(error).toBeUndefined();
  });

  it('answers with a plain error what fails before the first event (B31)', async () => {
    const { subscribeToTask } = bindings.operations;
    bindings.operations.subscribeToTask = () => Promise.reject(new A2AError('unsupportedOperation'));
    const { texts, error } = await read(openStream('SubscribeToTask', { id: 't' }));
    bindings.operations.subscribeToTask = subscribeToTask;

    expect(texts).toEqual([]);
    expect(error?.code).toBe(status.FAILED_PRECONDITION);
    expect(errorInfo(error).info.reason).toBe('UNSUPPORTED_OPERATION');
  });

  it('ends a stream with the status of what fails in its middle (B31)', async () => {
    const { subscribeToTask } = bindings.operations;
    bindings.operations.subscribeToTask = async () =>
      (async function* (): EventStream {
        yield [chunk(1), chunk(2)];
        throw new Error('the database is gone');
      })();
    const { texts, error } = await read(openStream('SubscribeToTask', { id: 't' }));
    bindings.operations.subscribeToTask = subscribeToTask;

    expect(texts).toEqual(['chunk 1 ', 'chunk 2 ']);
    expect(error?.code).toBe(status.INTERNAL);
    expect(error?.details).not.toContain('database');
  });

  describe('with a stream that waits for ever', () => {
    let opened = 0;
    let returned = 0;
    const waiting = async (): Promise<EventStream> => ({
      [Symbol.asyncIterator]: () => {
        opened++;
        let first = true;
        return {
          next: () => {
            if (!first) return new Promise<never>(() => {});
            first = false;
            return Promise.resolve({ value: [chunk(1)], done: false });
          },
          return: async () => {
            returned++;
            return { value: undefined, done: true };
          },
        };
      },
    });
    let original: typeof bindings.operations.subscribeToTask;
    beforeAll(() => {
      original = bindings.operations.subscribeToTask;
      bindings.operations.subscribeToTask = waiting;
    });
    afterAll(() => {
      bindings.operations.subscribeToTask = original;
    });
    beforeEach(() => {
      opened = returned = 0;
    });

    it('closes it at once when the client cancels', async () => {
      const stream = openStream('SubscribeToTask', { id: 't' });
      stream.on('error', () => {});
      await new Promise((resolve) => stream.once('data', resolve));
      expect(bindings.streams.count).toBe(1);
      stream.cancel();
      await eventually(() => expect(bindings.streams.count).toBe(0));
      expect(returned).toBe(1);
    });

    it('closes 1,000 of them when their deadline passes (B124)', async () => {
      const deadline = Date.now() + 1_500;
      const streams = Array.from({ length: 1_000 }, () =>
        read(openStream('SubscribeToTask', { id: 't' }, { deadline })),
      );
      const results = await Promise.all(streams);

      expect(new Set(results.map(({ error }) => error?.code))).toEqual(new Set([status.DEADLINE_EXCEEDED]));
      // On one connection the server has seen all of them once it answers this.
      await unary(client, 'GetTask', { id: 't' });
      await eventually(() => expect(bindings.streams.count).toBe(0));
      expect(opened).toBeGreaterThan(0);
      expect(returned).toBe(opened);
    });
  });

  it('holds a bounded part of a stream for a reader that never reads (B125)', async () => {
    const { subscribeToTask } = bindings.operations;
    let produced = 0;
    bindings.operations.subscribeToTask = async () =>
      (async function* (): EventStream {
        for (let seq = 1; seq <= 10_000; seq++) {
          produced++;
          yield [chunk(seq, 'x'.repeat(10_000))];
        }
      })();
    const reader = silentReader(
      toBinary(SubscribeToTaskRequestSchema, create(SubscribeToTaskRequestSchema, { id: 't' })),
    );
    let before = -1;
    await vi.waitFor(
      () => {
        const stalled = produced > 0 && produced === before;
        before = produced;
        expect(stalled).toBe(true);
      },
      { interval: 200, timeout: 15_000 },
    );
    bindings.operations.subscribeToTask = subscribeToTask;
    expect(produced).toBeLessThan(1_000);
    expect(bindings.streams.count).toBe(1);

    reader.destroy();
    await eventually(() => expect(bindings.streams.count).toBe(0));
  });

  it('reports health and describes itself (S002-150)', async () => {
    expect(await health(bindings.grpc)).toBe('SERVING');
    expect(await health(bindings.grpc, 'lf.a2a.v1.A2AService')).toBe('SERVING');
    expect(await reflected(bindings.grpc)).toContain('lf.a2a.v1.A2AService');
  });
});
