import type { Client, ClientReadableStream } from '@grpc/grpc-js';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type Bindings, grpcClient, metadata, startBindings, unary } from '../../../test/support/bindings.js';
import { chunk } from '../../../test/support/fake.operations.js';
import type { EventStream } from '../../protocol/index.js';

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

/** A service whose streams bring one event and then nothing more. */
async function start(env = {}): Promise<Bindings> {
  const bindings = await startBindings({ env });
  open.push(() => bindings.app.close());
  bindings.operations.subscribeToTask = async () =>
    (async function* (): EventStream {
      yield [chunk(1)];
      await new Promise<never>(() => {});
    })();
  return bindings;
}

/** A connection of its own: grpc-js shares one between clients with the same options. */
function connect({ grpc }: Bindings): Client {
  const client = grpcClient(grpc, { 'grpc.use_local_subchannel_pool': 1 });
  open.push(() => client.close());
  return client;
}

type Subscribe = (request: object, metadata: object) => ClientReadableStream<object>;

function subscribe(client: Client): ClientReadableStream<object> {
  const { SubscribeToTask } = client as unknown as Record<string, Subscribe>;
  const stream = SubscribeToTask!.call(client, { id: 't' }, metadata());
  stream.on('error', () => {});
  stream.resume();
  return stream;
}

const eventually = (check: () => void) => vi.waitFor(check, { timeout: 10_000 });

describe('A connection', () => {
  it('has calls beyond its limit wait until one has ended, and other connections have theirs', async () => {
    const bindings = await start({ PARLEY_MAX_GRPC_STREAMS: '3' });
    const client = connect(bindings);
    await unary(client, 'GetTask', { id: 't' });
    const streams = [1, 2, 3].map(() => subscribe(client));
    await eventually(() => expect(bindings.streams.count).toBe(3));

    let answered = false;
    const waiting = unary(client, 'GetTask', { id: 'waits' }).then((result) => {
      answered = true;
      return result;
    });
    expect((await unary(connect(bindings), 'GetTask', { id: 'goes' })).error).toBeUndefined();
    expect(answered).toBe(false);
    expect(bindings.operations.calls.map(({ request }) => request)).not.toContainEqual(
      expect.objectContaining({ id: 'waits' }),
    );

    streams[0]!.cancel();
    expect((await waiting).reply).toMatchObject({ id: 'waits' });
  });

  it('carries a thousand idle streams and a call beside them', async () => {
    const bindings = await start();
    const client = connect(bindings);
    for (let count = 0; count < 1_000; count++) subscribe(client);
    await eventually(() => expect(bindings.streams.count).toBe(1_000));
    expect((await unary(client, 'GetTask', { id: 't' })).error).toBeUndefined();
  });
});
