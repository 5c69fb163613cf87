import type { JsonObject } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { type BindingClient, JsonRpcClient } from './clients/index.js';
import { conformance } from './conformance.case.js';
import { ServiceStage } from './stage.js';
import {
  kinds,
  reaches,
  read,
  refused,
  says,
  send,
  start,
  type TaskJson,
  talk,
  taskState,
  textOf,
} from './task.calls.js';
import { OldGrpcClient, OldJsonRpcClient, OldRestClient } from './v03/old.clients.js';

/** A client of 1.0 and one of 0.3 for each binding: all are asked the same, and have to be told the same. */
class MixedStage extends ServiceStage {
  readonly #mixed = new Map<string, BindingClient[]>();

  override clients(agent = 'echo'): BindingClient[] {
    const known = this.#mixed.get(agent);
    if (known) return known;
    const base = `${this.httpUrl}/agents/${agent}`;
    const made = [
      new JsonRpcClient(`${base}/jsonrpc`),
      new OldJsonRpcClient(`${base}/jsonrpc`),
      new OldRestClient(`${base}/rest/v1`),
      new OldGrpcClient(this.grpcAddress, agent),
    ];
    this.#mixed.set(agent, made);
    return made;
  }
}

const stage = new MixedStage();
const { conforms, onEveryBinding } = conformance(stage);

const unknown = () => ({ id: crypto.randomUUID() });

describe('In 0.3 as in 1.0, a send', () => {
  for (const [words, state] of [
    ['hello', 'COMPLETED'],
    ['ask', 'INPUT_REQUIRED'],
    ['auth', 'AUTH_REQUIRED'],
    ['fail', 'FAILED'],
    ['reject', 'REJECTED'],
    ['throw', 'FAILED'],
    ['chunks 5', 'COMPLETED'],
  ] as const) {
    conforms({
      title: `of "${words}" comes to rest at ${state} (S001-04, S002-177)`,
      operation: 'sendMessage',
      request: () => ({ message: says(words) }),
      expect: taskState(state),
    });
  }

  conforms({
    title: 'to an agent that says nothing is an error (B114)',
    operation: 'sendMessage',
    request: () => ({ message: says('silent') }),
    expect: refused('INVALID_AGENT_RESPONSE'),
  });

  conforms({
    title: 'may be answered with a Message (S001-04)',
    operation: 'sendMessage',
    request: () => ({ message: says('message hi') }),
    expect: ({ result }) => expect(Object.keys(result!)).toEqual(['message']),
  });

  onEveryBinding('need not be waited for (S002-174)', async (client) => {
    const started = await start(client, 'sleep 60000');
    const { status } = await reaches(client, started.id, 'WORKING');
    await client.result('cancelTask', { id: started.id });
    return status.state;
  });

  onEveryBinding('answers a question on the same task (S000-29, S002-093)', async (client) => {
    const asked = await send(client, 'ask');
    const done = await send(client, says('blue', { taskId: asked.id, contextId: asked.contextId }));
    expect(done).toMatchObject({ id: asked.id, contextId: asked.contextId });
    expect(talk(done)[0]).toBe('ask');
    return done;
  });

  onEveryBinding('keeps metadata, extensions and references of a message (B114)', async (client) => {
    const metadata = { a: [1, null, { b: 'ü' }], empty: {} };
    const parts = [{ text: 'hello', metadata: { lang: 'en' } }];
    const more = { metadata, parts, extensions: ['https://e.example/x'], referenceTaskIds: ['t-1', 't-2'] };
    const { id } = await send(client, says('hello', more));
    const [first] = (await read(client, id)).history;
    expect(first).toMatchObject(more);
    return first;
  });

  onEveryBinding('twice with one messageId is one task (S002-059)', async (client) => {
    const message = says('hello');
    const tasks = [await send(client, message), await send(client, message)];
    expect(tasks[1]!.id).toBe(tasks[0]!.id);
    return tasks[1];
  });

  onEveryBinding(
    'brings files byte for byte (B102)',
    async (client) => {
      const raw = Buffer.from(Uint8Array.from({ length: 256 }, (_, byte) => byte)).toString('base64');
      const file = { raw, mediaType: 'text/x-diff', filename: 'ü.diff' };
      const parts = [{ text: 'what is this?' }, file];
      const { id } = await send(client, says('', { parts }));
      const [first] = (await read(client, id)).history;
      expect(first?.parts[1]).toEqual(file);
      return first;
    },
    'code-reviewer',
  );

  const faulty: [string, () => JsonObject, string[]][] = [
    ['without a message', () => ({}), ['message']],
    ['without messageId', () => ({ message: says('a', { messageId: '' }) }), ['message.messageId']],
    ['without parts', () => ({ message: says('a', { parts: [] }) }), ['message.parts']],
    ['of the agent', () => ({ message: says('a', { role: 'ROLE_AGENT' }) }), ['message.role']],
    ['with a strange contextId', () => ({ message: says('a', { contextId: 'a b' }) }), ['message.contextId']],
    ['with U+0000', () => ({ message: says('a\0b') }), ['message.parts[0].text']],
  ];
  for (const [title, request, fields] of faulty) {
    conforms({
      title: `${title} is refused, by the field (B114)`,
      operation: 'sendMessage',
      request,
      expect: refused('INVALID_PARAMS', ...fields),
    });
  }

  conforms({
    title: 'of a type that the agent does not take is refused (S002-058)',
    operation: 'sendMessage',
    request: () => ({ message: says('', { parts: [{ raw: 'AAAA', mediaType: 'image/png' }] }) }),
    expect: refused('CONTENT_TYPE_NOT_SUPPORTED'),
  });

  conforms({
    title: 'to a task that has ended is refused (S002-056)',
    operation: 'sendMessage',
    given: (client) => send(client, 'hello'),
    request: ({ id }) => ({ message: says('again', { taskId: id }) }),
    expect: refused('UNSUPPORTED_OPERATION'),
  });
});

describe('In 0.3 as in 1.0, a task', () => {
  for (const operation of ['getTask', 'cancelTask', 'subscribeToTask'] as const) {
    conforms({
      title: `that nobody knows is not found: ${operation}`,
      operation,
      request: unknown,
      expect: refused('TASK_NOT_FOUND'),
    });
  }

  conforms({
    title: 'is read whole (S001-07)',
    operation: 'getTask',
    given: (client) => send(client, 'chunks 3'),
    request: ({ id }) => ({ id }),
    expect: ({ result }, { id }) => {
      const task = result as TaskJson;
      expect(task.id).toBe(id);
      expect(textOf(task.artifacts[0])).toBe('chunk 1\nchunk 2\nchunk 3\n');
    },
  });

  conforms({
    title: 'shows as much history as is asked for (S002-061)',
    operation: 'getTask',
    given: async (client) => {
      const { id } = await send(client, 'ask');
      return send(client, says('blue', { taskId: id }));
    },
    request: ({ id }) => ({ id, historyLength: 1 }),
    expect: ({ result }) => expect((result as TaskJson).history).toHaveLength(1),
  });

  conforms({
    title: 'is cancelled, also twice (S000-24, S001-08)',
    operation: 'cancelTask',
    given: async (client) => {
      const { id } = await start(client, 'sleep 60000');
      await client.result('cancelTask', { id });
      return { id };
    },
    request: ({ id }) => ({ id }),
    expect: taskState('CANCELED'),
  });

  conforms({
    title: 'that has ended is not cancelled (S000-25)',
    operation: 'cancelTask',
    given: (client) => send(client, 'hello'),
    request: ({ id }) => ({ id }),
    expect: refused('TASK_NOT_CANCELABLE'),
  });
});

describe('In 0.3 as in 1.0, a stream', () => {
  for (const [words, expected] of [
    ['hello', ['task', 'artifactUpdate', 'COMPLETED']],
    ['chunks 3', ['task', 'WORKING', 'artifactUpdate', 'artifactUpdate', 'artifactUpdate', 'COMPLETED']],
    ['ask', ['task', 'INPUT_REQUIRED']],
    ['fail', ['task', 'FAILED']],
    ['reject', ['task', 'REJECTED']],
    ['message hi', ['message']],
  ] as const) {
    conforms({
      title: `of "${words}" is ${expected.join(', ')} (S001-05, S001-06)`,
      operation: 'sendStreamingMessage',
      request: () => ({ message: says(words) }),
      expect: ({ frames }) => expect(kinds(frames!).filter(isTold(words))).toEqual(expected),
    });
  }

  onEveryBinding('may be joined, and brings what comes after the snapshot (S000-20)', async (client) => {
    const { id } = await start(client, 'chunks 30 20');
    const frames = await (await client.stream('subscribeToTask', { id })).rest();
    const { task } = frames[0] as { task: TaskJson };
    const later = frames.flatMap(({ artifactUpdate }) =>
      artifactUpdate ? [textOf((artifactUpdate as { artifact: never }).artifact)] : [],
    );
    const stored = await read(client, id);
    expect(textOf(task.artifacts?.[0]) + later.join('')).toBe(textOf(stored.artifacts[0]));
    return stored.artifacts;
  });
});

/** Whether WORKING is told is up to the agent. */
const isTold = (words: string) => (kind: string) => kind !== 'WORKING' || words.startsWith('chunks');

describe('In 0.3 alone', () => {
  const old = () => stage.clients().slice(1);

  it('a stream ends at AUTH_REQUIRED too (S001-06)', async () => {
    for (const client of old()) {
      const { frames } = await client.call('sendStreamingMessage', { message: says('auth') });
      expect(kinds(frames!).at(-1)).toBe('AUTH_REQUIRED');
    }
  });

  it('a task that has ended is a stream of itself (S000-21, S001-10)', async () => {
    for (const client of old()) {
      const task = await send(client, 'hello');
      const { frames } = await client.call('subscribeToTask', { id: task.id });
      expect(frames).toEqual([{ task }]);
    }
  });

  it('agents that do not serve it refuse it on every binding (S002-171, B121)', async () => {
    for (const client of stage.clients('conformance').slice(1)) {
      expect((await client.call('getTask', unknown())).refusal?.reason).toBe('VERSION_NOT_SUPPORTED');
      const message = says('hello');
      expect((await client.call('sendStreamingMessage', { message })).refusal?.reason).toBe(
        'VERSION_NOT_SUPPORTED',
      );
    }
  });
});
