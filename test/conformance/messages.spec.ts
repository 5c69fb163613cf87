import type { JsonObject } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { artifact, completed, dataPart } from '../../src/agents/index.js';
import type { BindingClient } from './clients/index.js';
import { conformance } from './conformance.case.js';
import { ScriptStage, ServiceStage } from './stage.js';
import { read, refused, says, send, type TaskJson, talk, taskIn } from './task.calls.js';
import { NO_REFERENCES, ONE_VERSION } from './v03/modern.only.js';

const stage = new ServiceStage();
const { conforms, onEveryBinding } = conformance(stage);

/** A message without some of its fields. */
function without(...names: string[]): JsonObject {
  return Object.fromEntries(Object.entries(says('hello')).filter(([name]) => !names.includes(name)));
}

describe('A message', () => {
  const faulty: [string, () => JsonObject, string[]][] = [
    ['without messageId', () => without('messageId'), ['message.messageId']],
    ['with an empty messageId', () => says('a', { messageId: '' }), ['message.messageId']],
    ['without role', () => without('role'), ['message.role']],
    ['without parts', () => without('parts'), ['message.parts']],
    ['with empty parts', () => says('a', { parts: [] }), ['message.parts']],
    [
      'without anything',
      () => without('messageId', 'role', 'parts'),
      ['message.messageId', 'message.role', 'message.parts'],
    ],
  ];
  for (const [title, message, fields] of faulty) {
    conforms({
      title: `${title} is refused, by the field (S002-049, B115)`,
      operation: 'sendMessage',
      request: () => ({ message: message() }),
      expect: refused('INVALID_PARAMS', ...fields),
    });
  }
  conforms({
    title: 'is required (S002-049, B115)',
    operation: 'sendMessage',
    request: {},
    expect: refused('INVALID_PARAMS', 'message'),
  });
  conforms({
    title: 'is required for a stream too (S002-049, B31)',
    operation: 'sendStreamingMessage',
    request: () => ({ message: without('messageId') }),
    expect: refused('INVALID_PARAMS', 'message.messageId'),
  });

  for (const role of ['ROLE_AGENT', 'ROLE_UNSPECIFIED']) {
    conforms({
      title: `of a client has not the role ${role} (S002-050, B115)`,
      operation: 'sendMessage',
      request: () => ({ message: says('hello', { role }) }),
      expect: refused('INVALID_PARAMS', 'message.role'),
    });
  }

  for (const id of ['a b', 'ä', 'x'.repeat(201)]) {
    conforms({
      title: `has no messageId like ${id.slice(0, 5)} (S004-31)`,
      operation: 'sendMessage',
      request: { message: says('hello', { messageId: id }) },
      expect: refused('INVALID_PARAMS', 'message.messageId'),
    });
    conforms({
      title: `has no contextId like ${id.slice(0, 5)} (S004-31)`,
      operation: 'sendMessage',
      request: () => ({ message: says('hello', { contextId: id }) }),
      expect: refused('INVALID_PARAMS', 'message.contextId'),
    });
  }
});

describe('The ids of a message', () => {
  onEveryBinding(
    'are minted where there are none, once for the whole answer (S002-051, B48)',
    async (client) => {
      const task = await send(client, 'hello');
      expect(task.id).toMatch(/^[0-9a-f-]{36}$/);
      expect(task.contextId).toMatch(/^[0-9a-f-]{36}$/);
      expect(task.id).not.toBe(task.contextId);
      expect(task.history[0]).toMatchObject({ taskId: task.id, contextId: task.contextId });
      return task;
    },
  );

  conforms({
    title: 'of a direct reply are a contextId and no taskId (S002-051)',
    operation: 'sendMessage',
    request: () => ({ message: says('message hi') }),
    expect: ({ result }) => {
      const message = result!.message as TaskJson;
      expect(message.contextId).toMatch(/^[0-9a-f-]{36}$/);
      expect(message.taskId ?? '').toBe('');
    },
  });

  for (const operation of ['sendMessage', 'sendStreamingMessage'] as const) {
    conforms({
      title: `name a task that exists: ${operation} (S002-052, B47)`,
      operation,
      request: () => ({ message: says('hello', { taskId: crypto.randomUUID() }) }),
      expect: (reply) => {
        refused('TASK_NOT_FOUND')(reply);
        expect(reply.refusal?.metadata.taskId).toMatch(/^[0-9a-f-]{36}$/);
      },
    });
  }

  conforms({
    title: 'name no other context than that of the task (S002-053, B48)',
    operation: 'sendMessage',
    given: (client) => send(client, 'ask'),
    request: ({ id }) => ({ message: says('hello', { taskId: id, contextId: 'another' }) }),
    expect: refused('INVALID_PARAMS', 'message.contextId'),
  });

  conforms({
    title: 'lead from the task to its context (S002-054, B48)',
    operation: 'sendMessage',
    given: (client) => send(client, 'ask'),
    request: ({ id }) => ({ message: says('hello', { taskId: id }) }),
    expect: (reply, asked) => {
      const task = taskIn(reply);
      expect([task.id, task.contextId]).toEqual([asked.id, asked.contextId]);
      expect(task.history.every((message) => message.contextId === asked.contextId)).toBe(true);
    },
  });

  conforms({
    title: 'open a new task in a context that is given alone (S002-055, S002-081)',
    operation: 'sendMessage',
    given: (client) => send(client, says('first', { contextId: `ctx-${crypto.randomUUID()}` })),
    request: ({ contextId }) => ({ message: says('second', { contextId }) }),
    expect: (reply, before) => {
      const task = taskIn(reply);
      expect(task.contextId).toBe(before.contextId);
      expect(task.id).not.toBe(before.id);
    },
  });

  onEveryBinding('are on every message that is stored (S002-057)', async (client) => {
    const asked = await send(client, 'ask which?');
    const { id: taskId, contextId, history } = await send(client, says('this', { taskId: asked.id }));
    expect(history).toHaveLength(3);
    for (const message of history) expect(message).toMatchObject({ taskId, contextId });
    return history;
  });
});

describe('A message that is sent twice', () => {
  onEveryBinding('makes one task, and the answer says so (S002-056, S004-28, B49)', async (client) => {
    const message = says('hello');
    const first = await client.call('sendMessage', { message });
    const again = await client.call('sendMessage', { message });
    expect(again.result).toEqual(first.result);
    expect(first.headers['a2a-idempotent-replay']).toBeUndefined();
    expect(again.headers['a2a-idempotent-replay']).toBe('true');
  });

  onEveryBinding('makes one task when it comes many times at once (S002-056, B49)', async (client) => {
    const message = says('chunks 3 20');
    const tasks = await Promise.all(Array.from({ length: 8 }, () => send(client, message)));
    expect(new Set(tasks.map(({ id }) => id)).size).toBe(1);
    expect(tasks[0]?.artifacts[0]?.parts).toHaveLength(3);
  });

  it('makes one task when it comes over all bindings, in both versions (S002-056, S002-175)', async () => {
    const message = says('hello', { metadata: { a: [1.5, null] } });
    const tasks = await Promise.all(stage.everyone().map((client) => send(client, message)));
    expect(new Set(tasks.map(({ id }) => id)).size).toBe(1);
  });

  conforms({
    title: 'with other content is refused (S002-056, B49)',
    operation: 'sendMessage',
    given: (client) => send(client, 'hello'),
    request: ({ history }) => ({ message: says('other', { messageId: history[0]!.messageId }) }),
    expect: refused('INVALID_PARAMS', 'message.messageId'),
  });

  onEveryBinding('to a task that waits is taken once (S002-056)', async (client) => {
    const { id } = await send(client, 'ask');
    const answer = says('ask again', { taskId: id });
    const [first, second] = [await send(client, answer), await send(client, answer)];
    expect(second).toEqual(first);
    expect(talk(first)).toEqual(['ask', 'What shall I echo?', 'ask again', 'again']);
  });

  onEveryBinding(
    'is another one for an agent that does not want this, and stays in the history',
    async (client) => {
      const message = says('tck-multi-turn', { messageId: `tck-multi-turn-${crypto.randomUUID()}` });
      const [first, second] = [await send(client, message), await send(client, message)];
      expect(second.id).not.toBe(first.id);
      const last = await send(client, { ...message, taskId: first.id, parts: [{ text: 'done' }] });
      expect(talk(last)).toEqual(['tck-multi-turn', 'done']);
    },
    { agent: 'conformance', modernOnly: ONE_VERSION },
  );
});

describe('What a message brings along', () => {
  const scripted = new ScriptStage({
    scripts: {
      plain: () => [completed()],
      tell: async function* (turn) {
        const { extensions, referenceTaskIds, metadata } = turn.message;
        const referenced = await turn.referencedTasks();
        const told = {
          extensions,
          referenceTaskIds,
          metadata: metadata!,
          found: referenced.map(({ id }) => id),
        };
        yield artifact({ parts: [dataPart(told)] });
        yield completed();
      },
    },
  });
  const tell = (client: BindingClient, referenceTaskIds: string[]) =>
    send(
      client,
      says('tell', {
        referenceTaskIds,
        extensions: ['https://e.example/x'],
        metadata: { k: { deep: [true] } },
      }),
    );

  conformance(scripted).onEveryBinding(
    'is stored and given to the agent; only own tasks are resolved (S002-058)',
    async (client) => {
      const own = await send(client, 'plain');
      const foreign = await send(client, 'plain', undefined, { 'x-caller': 'acme/bob' });
      const task = await tell(client, [own.id, foreign.id, 'unknown']);
      expect(task.artifacts[0]?.parts[0]?.data).toEqual({
        extensions: ['https://e.example/x'],
        referenceTaskIds: [own.id, foreign.id, 'unknown'],
        metadata: { k: { deep: [true] } },
        found: [own.id],
      });
      expect((await read(client, task.id)).history[0]).toMatchObject({
        extensions: ['https://e.example/x'],
        referenceTaskIds: [own.id, foreign.id, 'unknown'],
        metadata: { k: { deep: [true] } },
      });
    },
    { modernOnly: NO_REFERENCES },
  );
});

describe('A follow-up', () => {
  for (const operation of ['sendMessage', 'sendStreamingMessage'] as const) {
    conforms({
      title: `to a task that has ended is refused and changes nothing: ${operation} (S002-114, B46)`,
      operation,
      given: (client) => send(client, 'hello'),
      request: ({ id }) => ({ message: says('more', { taskId: id }) }),
      expect: async (reply, before, client) => {
        refused('UNSUPPORTED_OPERATION')(reply);
        expect(reply.refusal?.metadata).toMatchObject({ taskId: before.id });
        expect(await read(client, before.id)).toEqual(before);
      },
    });
  }
});
