import { SendMessageRequest, StreamResponse, Task } from '@a2a-js/sdk';
import * as modern from '@a2a-js/sdk/client';
import { GrpcTransportFactory } from '@a2a-js/sdk/client/grpc';
import * as old from 'a2a-sdk-v03/client';
import { GrpcTransportFactory as OldGrpcTransportFactory } from 'a2a-sdk-v03/client/grpc';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Binding } from '../../src/protocol/index.js';
import { BINDINGS } from '../support/any.binding.js';
import { type RunningService, startService } from '../support/service.js';

let service: RunningService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service?.stop());

/** What a task looks like to either client: its id, its state without the words of a version, and all it says. */
interface Seen {
  readonly id: string;
  readonly state: string;
  readonly talk: readonly string[];
  readonly results: readonly string[];
}

/** One of the two public SDKs, as it comes, over the binding that is wanted. */
interface Sdk {
  send(text: string, more?: { taskId?: string; wait?: boolean }): Promise<Seen>;
  get(id: string): Promise<Seen>;
  cancel(id: string): Promise<Seen>;
  /** The state of the task that comes first, then that of each status. */
  follow(id: string): AsyncGenerator<string>;
}

interface Said {
  readonly id: string;
  readonly status?: { readonly state: string; readonly message?: Spoken };
  readonly history?: readonly Spoken[];
  readonly artifacts?: readonly Spoken[];
}

interface Spoken {
  readonly parts: readonly { readonly text?: string }[];
}

const texts = (list: readonly Spoken[] = []) =>
  list.map(({ parts }) => parts.map(({ text = '' }) => text).join(''));

const seen = (task: unknown): Seen => {
  const { id, status, history = [], artifacts } = task as Said;
  const talk = texts(status?.message ? [...history, status.message] : history);
  return { id, state: stateOf(status!.state), talk, results: texts(artifacts) };
};

const stateOf = (state: string) => state.replace('TASK_STATE_', '').toLowerCase().replace('_', '-');

async function modernSdk(binding: Binding): Promise<Sdk> {
  const { ClientFactory, ClientFactoryOptions } = modern;
  const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
    transports: [new GrpcTransportFactory()],
    preferredTransports: [binding],
  });
  const client = await new ClientFactory(options).createFromUrl(`${service.httpUrl}/agents/echo/`);
  const tenant = '';
  return {
    async send(text, { taskId = '', wait = true } = {}) {
      const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', taskId, parts: [{ text }] };
      const configuration = { returnImmediately: !wait };
      const reply = await client.sendMessage(SendMessageRequest.fromJSON({ message, configuration }));
      return seen(Task.toJSON(reply as Task));
    },
    get: async (id) => seen(Task.toJSON(await client.getTask({ tenant, id, historyLength: undefined }))),
    cancel: async (id) => seen(Task.toJSON(await client.cancelTask({ tenant, id, metadata: undefined }))),
    async *follow(id) {
      for await (const event of client.resubscribeTask({ tenant, id })) {
        const { task, statusUpdate } = StreamResponse.toJSON(event) as Record<string, Said | undefined>;
        const { status } = task ?? statusUpdate ?? {};
        if (status) yield stateOf(status.state);
      }
    },
  };
}

async function oldSdk(binding: Binding): Promise<Sdk> {
  const { ClientFactory, JsonRpcTransportFactory, RestTransportFactory } = old;
  const factory = new ClientFactory({
    transports: [new JsonRpcTransportFactory(), new RestTransportFactory(), new OldGrpcTransportFactory()],
    preferredTransports: [binding],
  });
  const client = await factory.createFromUrl(`${service.httpUrl}/agents/echo/`);
  return {
    async send(text, { taskId, wait = true } = {}) {
      const parts = [{ kind: 'text' as const, text }];
      const message = {
        messageId: crypto.randomUUID(),
        role: 'user',
        kind: 'message',
        taskId,
        parts,
      } as const;
      return seen(
        await client.sendMessage({ message: { ...message, parts }, configuration: { blocking: wait } }),
      );
    },
    get: async (id) => seen(await client.getTask({ id })),
    cancel: async (id) => seen(await client.cancelTask({ id })),
    async *follow(id) {
      for await (const event of client.resubscribeTask({ id })) {
        if (event.kind === 'task' || event.kind === 'status-update') yield stateOf(event.status.state);
      }
    },
  };
}

const DIRECTIONS = [
  ['0.3', oldSdk, '1.0', modernSdk],
  ['1.0', modernSdk, '0.3', oldSdk],
] as const;
const PAIRS = DIRECTIONS.flatMap(([first, maker, second, taker]) =>
  BINDINGS.flatMap((one) =>
    BINDINGS.map(
      (other) =>
        [`${first} over ${one}`, `${second} over ${other}`, () => maker(one), () => taker(other)] as const,
    ),
  ),
);

describe.each(PAIRS)(
  'A task of a client of %s, in the hands of one of %s',
  (_one, _other, makeOne, makeOther) => {
    let maker: Sdk;
    let taker: Sdk;
    beforeAll(async () => {
      [maker, taker] = await Promise.all([makeOne(), makeOther()]);
    });

    it('is read and continued (S001-24, S002-175)', async () => {
      const asked = await maker.send('ask which one?');
      expect(asked).toMatchObject({ state: 'input-required', talk: ['ask which one?', 'which one?'] });
      expect(await taker.get(asked.id)).toEqual(asked);

      const done = await taker.send('blue', { taskId: asked.id });
      expect(done).toEqual({
        id: asked.id,
        state: 'completed',
        talk: ['ask which one?', 'which one?', 'blue'],
        results: ['blue'],
      });
      expect(await maker.get(asked.id)).toEqual(done);
    });

    it('is subscribed to and cancelled (S001-24, S002-175)', async () => {
      const { id } = await maker.send('sleep 60000', { wait: false });
      const followed = [maker, taker].map((client) => client.follow(id));
      for (const states of followed) expect(['submitted', 'working']).toContain((await states.next()).value);
      expect((await taker.cancel(id)).state).toBe('canceled');
      for (const states of followed) {
        const rest: string[] = [];
        for await (const state of states) rest.push(state);
        expect(rest.at(-1)).toBe('canceled');
      }
      expect((await maker.get(id)).state).toBe('canceled');
    });
  },
);
