import { create } from '@bufbuild/protobuf';
import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { metadata } from '../../../test/support/bindings.js';
import { chunk, streamOf } from '../../../test/support/fake.operations.js';
import { OldBindings, SAYS } from '../../../test/support/old.bindings.js';
import { StreamEvent, StreamResponseSchema } from '../../protocol/index.js';

const { operations, doorman, http, rpc, grpc } = new OldBindings();

describe('Identity in 0.3', () => {
  it('is asked for on every binding as in 1.0 (B57)', async () => {
    doorman.strict = true;
    const calls = async (headers: Record<string, string>) => [
      (await rpc('tasks/get', { id: 't' }, headers)).status,
      (await http('GET', '/rest/v1/tasks/t', undefined, headers)).status,
      (await http('POST', '/agents/acme/rest/v1/tasks/t:cancel', undefined, headers)).status,
      (await grpc('GetTask', { name: 'tasks/t' }, metadata(headers))).error?.code,
    ];
    expect(await calls({})).toEqual([401, 401, 401, status.UNAUTHENTICATED]);
    expect((await rpc('message/stream', { message: SAYS })).response.headers.get('www-authenticate')).toBe(
      'Bearer',
    );
    expect(operations.calls).toEqual([]);
    expect(await calls({ authorization: 'Bearer x' })).toEqual([200, 200, 200, undefined]);
  });
});

it('An event is looked through and encoded once for all its readers of 0.3', async () => {
  const { subscribeToTask } = operations;
  let reads = 0;
  const response = create(StreamResponseSchema, chunk(1).response);
  const counted = new Proxy(response, {
    get(target, name, receiver) {
      if (name === 'payload') reads++;
      return Reflect.get(target, name, receiver);
    },
  });
  const event = new StreamEvent(counted, 1);
  operations.subscribeToTask = async () => streamOf([event]);
  const [first, ...others] = await Promise.all(
    Array.from({ length: 5 }, () => rpc('tasks/resubscribe', { id: 't' })),
  );
  operations.subscribeToTask = subscribeToTask;
  for (const other of others) expect(other.events).toEqual(first!.events);
  // Once for data of extensions, once to be encoded.
  expect(reads).toBe(2);
});
