import { describe, expect, it } from 'vitest';
import {
  artifact,
  authRequired,
  completed,
  dataPart,
  inputRequired,
  rejected,
  status,
  textOf as textOfParts,
  textPart,
  working,
} from '../../src/agents/index.js';
import { Role, TaskState } from '../../src/protocol/index.js';
import { conformance } from './conformance.case.js';
import { ScriptStage, ServiceStage } from './stage.js';
import {
  kinds,
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
import { EARLIER_END, NO_LISTS, NO_REFERENCES } from './v03/modern.only.js';

const stage = new ServiceStage();
const { conforms, onEveryBinding } = conformance(stage);

const scripted = new ScriptStage({
  scripts: {
    wander: () => [
      working('1'),
      authRequired('2'),
      working('3'),
      status(TaskState.SUBMITTED),
      working('4'),
      completed('5'),
    ],
    refuse: () => [rejected('not today')],
    lost: () => [status(TaskState.UNSPECIFIED)],
    converse: ({ history, message }) => {
      const turn = history.filter(({ role }) => role === Role.USER).length;
      if (turn === 3)
        return [working('working'), artifact({ parts: [textPart('done')] }), completed('goodbye')];
      return [working(`heard ${textOfParts(message.parts)}`), inputRequired(`question ${turn}`)];
    },
    forget: ({ history }) => {
      if (history.length === 1) {
        return [artifact({ artifactId: 'first', parts: [textPart('kept')] }), inputRequired('more?')];
      }
      return [{ case: 'task', value: { status: { state: TaskState.COMPLETED } } }];
    },
    noted: () => [
      status(TaskState.WORKING, undefined, { a: 1, c: 1 }),
      status(TaskState.COMPLETED, undefined, { b: 2, c: 2 }),
    ],
    remember: async function* (turn) {
      const earlier = await turn.earlierTasks();
      const told = earlier.map(({ history }) => textOfParts(history[0]!.parts));
      yield artifact({ parts: [dataPart(told)] });
      yield completed();
    },
  },
});
const { conforms: conformsScripted, onEveryBinding: onEveryScripted } = conformance(scripted);

describe('A task', () => {
  onEveryBinding(
    'always has an id, a contextId and a status (S002-075, S002-080)',
    async (client) => {
      const started = await start(client, 'sleep 100');
      const done = await send(client, 'hello');
      const listed = (await client.result('listTasks', { contextId: done.contextId })).tasks as TaskJson[];
      for (const task of [started, done, await read(client, done.id), listed[0]!]) {
        expect(task).toMatchObject({
          id: expect.stringMatching(/./),
          contextId: expect.stringMatching(/./),
          status: {
            state: expect.stringMatching(/^TASK_STATE_[A-Z_]+$/),
            timestamp: expect.stringMatching(/Z$/),
          },
        });
      }
    },
    { modernOnly: NO_LISTS },
  );

  onEveryScripted(
    'goes from any state that is not terminal to any other (S002-076)',
    async (client) => {
      const stream = await client.stream('sendStreamingMessage', { message: says('wander') });
      const frames = await stream.rest();
      expect(kinds(frames)).toEqual([
        'task',
        'WORKING',
        'AUTH_REQUIRED',
        'WORKING',
        'SUBMITTED',
        'WORKING',
        'COMPLETED',
      ]);
      return frames;
    },
    { modernOnly: EARLIER_END },
  );

  onEveryScripted('may be REJECTED at once, which is not FAILED (S002-077)', async (client) => {
    const stream = await client.stream('sendStreamingMessage', { message: says('refuse') });
    const frames = await stream.rest();
    expect(kinds(frames)).toEqual(['task', 'REJECTED']);
    return frames;
  });

  conforms({
    title: 'of an agent that crashes is FAILED, and says so without its words (S002-078, B09, B107)',
    operation: 'sendMessage',
    request: () => ({ message: says('throw password=x') }),
    expect: (reply) => {
      taskState('FAILED')(reply);
      const { status } = reply.result!.task as TaskJson;
      expect(status.message?.parts[0]?.text).toBe('The agent failed.');
      expect(JSON.stringify(status)).not.toContain('password');
    },
  });
  conforms({
    title: 'of an agent that says nothing is an InvalidAgentResponse (B09)',
    operation: 'sendMessage',
    request: () => ({ message: says('silent') }),
    expect: refused('INVALID_AGENT_RESPONSE'),
  });
  conformsScripted({
    title: 'is in none but the nine states (S002-005)',
    operation: 'sendMessage',
    request: () => ({ message: says('lost') }),
    expect: refused('INVALID_AGENT_RESPONSE'),
  });

  onEveryScripted(
    'moves a status message into the history when the next status comes, each once (S002-079, B17)',
    async (client) => {
      const first = await send(client, 'converse');
      expect(talk(first)).toEqual(['converse', 'heard converse', 'question 1']);
      expect(first.status.message?.parts[0]?.text).toBe('question 1');
      await send(client, says('two', { taskId: first.id }));
      const last = await send(client, says('three', { taskId: first.id }));
      expect(talk(last)).toEqual([
        'converse',
        'heard converse',
        'question 1',
        'two',
        'heard two',
        'question 2',
        'three',
        'working',
        'goodbye',
      ]);
      const ids = last.history.map(({ messageId }) => messageId);
      expect(new Set(ids).size).toBe(ids.length);
      expect(await read(client, first.id)).toEqual(last);
      return last;
    },
  );

  onEveryScripted('is not wiped by an agent that gives a whole new Task (B16)', async (client) => {
    const first = await send(client, 'forget');
    const last = await send(client, says('this', { taskId: first.id }));
    expect(last.status.state).toBe('TASK_STATE_COMPLETED');
    expect(talk(last)).toEqual(['forget', 'more?', 'this']);
    expect(textOf(last.artifacts[0])).toBe('kept');
    return last;
  });

  conformsScripted({
    title: 'merges the metadata of its status updates (B20)',
    operation: 'sendMessage',
    request: () => ({ message: says('noted') }),
    expect: (reply) => expect((reply.result!.task as TaskJson).metadata).toEqual({ a: 1, b: 2, c: 2 }),
  });
});

describe('A context', () => {
  onEveryBinding('of the client is kept as it is (S002-081, S002-080)', async (client) => {
    const contextId = `my-context/${crypto.randomUUID()}`;
    const task = await send(client, says('hello', { contextId }));
    const message = (await client.result('sendMessage', { message: says('message hi', { contextId }) }))
      .message;
    expect(task.contextId).toBe(contextId);
    expect(message).toMatchObject({ contextId });
    const stream = await client.stream('sendStreamingMessage', { message: says('hello', { contextId }) });
    for (const frame of await stream.rest()) {
      expect(Object.values(frame)[0]).toMatchObject({ contextId });
    }
  });

  onEveryBinding(
    'holds several tasks at once (S002-082)',
    async (client) => {
      const contextId = crypto.randomUUID();
      const tasks = await Promise.all(
        ['one', 'two', 'three'].map((text) => send(client, says(`sleep 100 ${text}`, { contextId }))),
      );
      expect(new Set(tasks.map(({ id }) => id)).size).toBe(3);
      expect(tasks.every((task) => task.contextId === contextId && talk(task).length === 1)).toBe(true);
      const { tasks: listed } = await client.result('listTasks', { contextId });
      expect(listed).toHaveLength(3);
    },
    { modernOnly: NO_LISTS },
  );

  onEveryScripted(
    'gives the agent what was said before in it, of this caller alone (S002-083)',
    async (client) => {
      const contextId = crypto.randomUUID();
      await send(client, says('refuse one', { contextId }));
      await send(client, says('refuse two', { contextId }));
      await send(client, says('refuse foreign', { contextId }), undefined, { 'x-caller': 'acme/bob' });
      await send(client, says('refuse elsewhere', { contextId: crypto.randomUUID() }));
      const task = await send(client, says('remember', { contextId }));
      expect(task.artifacts[0]?.parts[0]?.data).toEqual(['refuse two', 'refuse one']);
    },
  );

  onEveryBinding(
    'goes on with a new task that refers to the old one, and takes over nothing of it (S002-084, B18)',
    async (client) => {
      const first = await send(client, says('first', { metadata: { a: 1 } }));
      const { contextId } = first;
      const second = await send(client, says('second', { contextId, referenceTaskIds: [first.id] }));
      expect(second.id).not.toBe(first.id);
      expect(second.contextId).toBe(contextId);
      expect(talk(second)).toEqual(['second']);
      expect(second.artifacts.map(textOf)).toEqual(['second']);
      expect(second.metadata ?? {}).toEqual({});
      expect(second.history[0]?.referenceTaskIds).toEqual([first.id]);
      expect(await read(client, first.id)).toEqual(first);
      return [first, second];
    },
    { modernOnly: NO_REFERENCES },
  );
});

it('Times are of the moment they tell of, on every binding', async () => {
  const before = Date.now();
  for (const client of stage.everyone()) {
    const time = Date.parse((await send(client, 'hello')).status.timestamp);
    expect(time).toBeGreaterThanOrEqual(before);
    expect(time).toBeLessThanOrEqual(Date.now());
  }
});
