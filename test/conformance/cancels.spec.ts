import { describe, expect } from 'vitest';
import { artifact, completed, inputRequired, textPart, working } from '../../src/agents/index.js';
import { conformance } from './conformance.case.js';
import { Gate } from './gate.js';
import { ScriptStage, ServiceStage } from './stage.js';
import {
  kinds,
  reaches,
  read,
  refused,
  says,
  send,
  start,
  type TaskJson,
  taskState,
  textOf,
} from './task.calls.js';
import { NO_CANCEL_METADATA } from './v03/modern.only.js';

const stage = new ServiceStage();
const { conforms, onEveryBinding } = conformance(stage);

const gates = new Map<string, Gate>();
const effects = new Map<string, number>();
const scripted = new ScriptStage({
  scripts: {
    busy: async function* ({ task, signal }) {
      yield artifact({ artifactId: 'a', parts: [textPart('part')] });
      while (!signal.aborted) {
        effects.set(task.id, (effects.get(task.id) ?? 0) + 1);
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
    deaf: async function* ({ task }) {
      yield working();
      await Gate.of(gates, task.id).opened;
      yield artifact({ artifactId: 'late', parts: [textPart('late')] });
      yield completed('too late');
    },
    ask: () => [inputRequired('?')],
  },
  agent: { settings: { cancelGraceMs: 50 } },
});
const { onEveryBinding: onEveryScripted } = conformance(scripted);

describe('Cancelling', () => {
  onEveryScripted(
    'stops the agent and keeps what it made (S002-108, S000-26, S001-08, B38)',
    async (client) => {
      const { id } = await start(client, 'busy');
      await expect.poll(() => effects.get(id)).toBeGreaterThan(2);
      const task = (await client.result('cancelTask', { id })) as TaskJson;
      expect(task.status.state).toBe('TASK_STATE_CANCELED');
      expect(textOf(task.artifacts[0])).toBe('part');
      const before = effects.get(id)!;
      await expect.poll(() => scripted.replica.runner.get(id)).toBeUndefined();
      expect(effects.get(id)).toBeLessThanOrEqual(before + 1);
      expect(await read(client, id)).toEqual(task);
      return task;
    },
  );

  for (const [state, text] of [
    ['COMPLETED', 'hello'],
    ['FAILED', 'fail'],
    ['REJECTED', 'reject'],
  ] as const) {
    conforms({
      title: `a task that is ${state} is refused and changes nothing (S002-110, S000-25, S001-09)`,
      operation: 'cancelTask',
      given: (client) => send(client, text),
      request: ({ id }) => ({ id }),
      expect: async (reply, before, client) => {
        refused('TASK_NOT_CANCELABLE')(reply);
        expect(reply.refusal?.metadata).toMatchObject({ taskId: before.id, state });
        expect(await read(client, before.id)).toEqual(before);
      },
    });
  }

  onEveryBinding('twice answers the same task twice, also at once (S002-111, B40)', async (client) => {
    const { id } = await start(client, 'sleep 60000');
    const cancel = () => client.result('cancelTask', { id }) as Promise<TaskJson>;
    const [one, other] = await Promise.all([cancel(), cancel()]);
    expect(one.status.state).toBe('TASK_STATE_CANCELED');
    expect(other).toEqual(one);
    expect(await cancel()).toEqual(one);
  });

  for (const text of ['ask', 'auth']) {
    conforms({
      title: `a task that waits (${text}) works (S002-112, S000-24, B42)`,
      operation: 'cancelTask',
      given: (client) => send(client, text),
      request: ({ id }) => ({ id }),
      expect: async (reply, before, client) => {
        taskState('CANCELED')(reply);
        expect(await read(client, before.id)).toEqual(reply.result);
      },
    });
  }
  onEveryBinding('a task that waits ends the stream of who waits with it (S002-112, B42)', async (client) => {
    const { id } = await send(client, 'ask');
    const stream = await client.stream('subscribeToTask', { id });
    await client.result('cancelTask', { id });
    expect(kinds(await stream.rest())).toEqual(['task', 'CANCELED']);
  });

  onEveryScripted(
    'is committed without an agent that does not listen; what it says then is dropped (S002-113)',
    async (client) => {
      const { id } = await start(client, 'deaf');
      await reaches(client, id, 'WORKING');
      const task = (await client.result('cancelTask', { id })) as TaskJson;
      expect(task.status.state).toBe('TASK_STATE_CANCELED');
      Gate.of(gates, id).open();
      await expect.poll(() => scripted.replica.runner.get(id)).toBeUndefined();
      expect(await read(client, id)).toEqual(task);
      expect(task.artifacts ?? []).toEqual([]);
    },
  );

  conforms({
    title: 'brings its metadata onto the task (S002-116)',
    modernOnly: NO_CANCEL_METADATA,
    operation: 'cancelTask',
    given: (client) => start(client, 'sleep 60000'),
    request: ({ id }) => ({ id, metadata: { why: 'changed my mind', n: [1] } }),
    expect: async ({ result }, { id }, client) => {
      expect(result).toMatchObject({ metadata: { why: 'changed my mind', n: [1] } });
      expect(await read(client, id)).toEqual(result);
    },
  });
  conforms({
    title: 'of a task that waits brings its metadata onto it too (S002-116)',
    modernOnly: NO_CANCEL_METADATA,
    operation: 'cancelTask',
    given: (client) => send(client, 'ask'),
    request: ({ id }) => ({ id, metadata: { why: 'no answer' } }),
    expect: ({ result }) => expect(result).toMatchObject({ metadata: { why: 'no answer' } }),
  });

  conforms({
    title: 'finds no unknown task',
    operation: 'cancelTask',
    request: { id: 'unknown' },
    expect: refused('TASK_NOT_FOUND'),
  });

  onEveryBinding('a turn that has not said anything yet works (S000-24, B43)', async (client) => {
    const { id } = await start(client, 'sleep 60000');
    const [task] = await Promise.all([client.result('cancelTask', { id }), read(client, id)]);
    expect(task).toMatchObject({ id, status: { state: 'TASK_STATE_CANCELED' } });
  });

  onEveryBinding('closes the task for messages (S002-114)', async (client) => {
    const { id } = await send(client, 'ask');
    await client.result('cancelTask', { id });
    const reply = await client.call('sendMessage', { message: says('hello', { taskId: id }) });
    refused('UNSUPPORTED_OPERATION')(reply);
    return reply.refusal;
  });
});
