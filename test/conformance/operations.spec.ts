import { describe, expect, it } from 'vitest';
import { artifact, completed, textPart, working } from '../../src/agents/index.js';
import { OPERATION_NAMES, type OperationName } from '../../src/protocol/index.js';
import { conformance } from './conformance.case.js';
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
  talk,
  textOf,
} from './task.calls.js';
import { NO_LISTS, PUBLIC_CARD } from './v03/modern.only.js';

const UNKNOWN = '00000000-0000-4000-8000-000000000000';

const stage = new ServiceStage();
const { conforms, onEveryBinding } = conformance(stage);

describe('The eleven operations', () => {
  const ofTask = { taskId: UNKNOWN, id: 'a' };
  const requests: Readonly<Record<OperationName, object>> = {
    sendMessage: { message: says('hello', { taskId: UNKNOWN }) },
    sendStreamingMessage: { message: says('hello', { taskId: UNKNOWN }) },
    getTask: { id: UNKNOWN },
    listTasks: { contextId: UNKNOWN },
    cancelTask: { id: UNKNOWN },
    subscribeToTask: { id: UNKNOWN },
    createTaskPushNotificationConfig: { taskId: UNKNOWN, url: 'https://hook.example/a' },
    getTaskPushNotificationConfig: ofTask,
    listTaskPushNotificationConfigs: { taskId: UNKNOWN },
    deleteTaskPushNotificationConfig: ofTask,
    getExtendedAgentCard: {},
  };
  for (const operation of OPERATION_NAMES) {
    conforms({
      title: `have ${operation} on every binding (S002-001)`,
      operation,
      modernOnly: { listTasks: NO_LISTS, getExtendedAgentCard: PUBLIC_CARD }[operation as string],
      request: requests[operation] as never,
      expect: ({ result, refusal }) => {
        expect(result ?? refusal).toBeDefined();
        expect(['METHOD_NOT_FOUND', 'METHOD_NOT_ALLOWED', 'NOT_FOUND']).not.toContain(refusal?.reason);
      },
    });
  }

  it('show a task made on one binding, in one version, on all of them alike (S002-002, S001-07, S001-24, S002-175)', async () => {
    for (const maker of stage.everyone()) {
      const made = await send(maker, says('hello', { metadata: { deep: [1, { a: null }] } }));
      const [first, ...others] = await Promise.all(stage.everyone().map((reader) => read(reader, made.id)));
      expect(textOf(first?.artifacts[0])).toBe('hello');
      for (const other of others) expect(other).toEqual(first);
    }
  });

  conforms({
    title: 'answer with a task where the agent works (S002-003)',
    operation: 'sendMessage',
    request: () => ({ message: says('hello') }),
    expect: ({ result }) => expect(Object.keys(result!)).toEqual(['task']),
  });
  conforms({
    title: 'answer with a Message where the agent just talks (S002-003, S001-04)',
    operation: 'sendMessage',
    request: () => ({ message: says('message hi') }),
    expect: ({ result }) => {
      expect(Object.keys(result!)).toEqual(['message']);
      expect(result?.message).toMatchObject({ role: 'ROLE_AGENT', parts: [{ text: 'hi' }] });
    },
  });

  conforms({
    title: 'make no task under an id of the client (S002-004, B47)',
    operation: 'sendMessage',
    request: () => ({ message: says('hello', { taskId: UNKNOWN }) }),
    expect: async (reply, _, client) => {
      refused('TASK_NOT_FOUND')(reply);
      refused('TASK_NOT_FOUND')(await client.call('getTask', { id: UNKNOWN }));
    },
  });

  onEveryBinding('give results as artifacts and talk as messages (S002-007)', async (client) => {
    const task = await send(client, 'the result');
    expect(textOf(task.artifacts[0])).toBe('the result');
    expect(talk(task)).toEqual(['the result']);
    const asked = await send(client, 'ask which one?');
    expect(asked.artifacts ?? []).toEqual([]);
    expect(talk(asked)).toEqual(['ask which one?', 'which one?']);
    return [task, asked];
  });

  describe('know nine states and no other: ', () => {
    const ways: Readonly<Record<string, string>> = {
      COMPLETED: 'hello',
      FAILED: 'fail',
      REJECTED: 'reject',
      INPUT_REQUIRED: 'ask',
      AUTH_REQUIRED: 'auth',
    };
    for (const [state, text] of Object.entries(ways)) {
      onEveryBinding(`${state} is reached and read (S002-005, S002-177, S000-27)`, async (client) => {
        const task = await send(client, text);
        expect(task.status.state).toBe(`TASK_STATE_${state}`);
        expect((await read(client, task.id)).status).toEqual(task.status);
        return task.status;
      });
    }
    onEveryBinding(
      'SUBMITTED, WORKING and CANCELED are reached and read (S002-005, S000-24, S000-27)',
      async (client) => {
        const stream = await client.stream('sendStreamingMessage', { message: says('sleep 60000') });
        const { task } = (await stream.next()) as { task: TaskJson };
        expect(task.status.state).toBe('TASK_STATE_SUBMITTED');
        await reaches(client, task.id, 'WORKING');
        await client.result('cancelTask', { id: task.id });
        expect(kinds(await stream.rest()).at(-1)).toBe('CANCELED');
      },
    );
  });
});

describe('What an agent says after its end', () => {
  const late = () => artifact({ artifactId: 'late', parts: [textPart('late')] });
  const scripted = new ScriptStage({
    scripts: {
      done: async function* () {
        yield completed('the end');
        yield working('once more');
        yield late();
        throw new Error('late');
      },
    },
  });

  conformance(scripted).onEveryBinding(
    'changes nothing and is not streamed (S002-006, B45)',
    async (client) => {
      const stream = await client.stream('sendStreamingMessage', { message: says('done') });
      const frames = await stream.rest();
      expect(kinds(frames)).toEqual(['task', 'COMPLETED']);
      const { id } = (frames[0] as { task: TaskJson }).task;
      await expect.poll(() => scripted.replica.runner.size).toBe(0);
      const task = await read(client, id);
      expect(talk(task)).toEqual(['done', 'the end']);
      expect(task.artifacts ?? []).toEqual([]);
      return task;
    },
  );
});

describe('Every stream of a task', () => {
  it('carries the same events in the same order, on every binding, in both versions (S002-008, S002-118, B35)', async () => {
    const [maker] = stage.clients();
    const { id } = await start(maker!, 'chunks 30 30');
    const told = await Promise.all(
      stage.everyone().map(async (client) => {
        const stream = await client.stream('subscribeToTask', { id });
        const [snapshot, ...tail] = await stream.rest();
        return { seen: textOf((snapshot as { task: TaskJson }).task.artifacts?.[0]), tail };
      }),
    );
    const stored = textOf((await read(maker!, id)).artifacts[0]);
    for (const { seen, tail } of told) {
      const chunks = tail.map((frame) => textOf((frame.artifactUpdate as { artifact: never })?.artifact));
      expect(seen + chunks.join('')).toBe(stored);
      expect(kinds(tail).at(-1)).toBe('COMPLETED');
    }
    const shortest = Math.min(...told.map(({ tail }) => tail.length));
    const [first, ...others] = told.map(({ tail }) => tail.slice(-shortest));
    expect(shortest).toBeGreaterThan(5);
    for (const other of others) expect(kinds(other)).toEqual(kinds(first!));
  });
});
