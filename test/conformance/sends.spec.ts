import { describe, expect, it } from 'vitest';
import {
  artifact,
  authRequired,
  completed,
  inputRequired,
  message,
  textOf as textOfParts,
  textPart,
  working,
} from '../../src/agents/index.js';
import { Role } from '../../src/protocol/index.js';
import type { BindingClient } from './clients/index.js';
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
  talk,
  taskIn,
  taskState,
  textOf,
} from './task.calls.js';
import { EARLIER_END, NO_LISTS, NO_ZERO } from './v03/modern.only.js';

const TOKEN = 'operator-token-of-the-test';
const stage = new ServiceStage({ PARLEY_OPERATOR_TOKEN: TOKEN });
const { conforms, onEveryBinding } = conformance(stage);

const gates = new Map<string, Gate>();
const running = new Map<string, number>();
const scripted = new ScriptStage({
  scripts: {
    wait: async function* ({ task }) {
      yield working();
      await Gate.of(gates, task.id).opened;
      yield artifact({ parts: [textPart('at last')] });
      yield completed();
    },
    login: async function* ({ task }) {
      yield authRequired('log in there');
      await Gate.of(gates, task.id).opened;
      yield artifact({ parts: [textPart('the secret')] });
      yield completed();
    },
    once: async function* ({ task, message: { parts }, history }) {
      if (history.filter(({ role }) => role === Role.USER).length === 1) {
        yield inputRequired('?');
        return;
      }
      const now = (running.get(task.id) ?? 0) + 1;
      running.set(task.id, now);
      yield artifact({ artifactId: 'runs', parts: [textPart(`${now} at once: ${textOfParts(parts)}`)] });
      await Gate.of(gates, task.id).opened;
      running.set(task.id, now - 1);
      yield inputRequired('more?');
    },
    chat: () => [message('just talking')],
  },
  agent: { settings: { blockingCapMs: 200, directReplies: true, directReplyWindowMs: 1_000 } },
});
const { conforms: conformsScripted, onEveryBinding: onEveryScripted } = conformance(scripted);

/** What an operator says to a task that waits for an approval. */
const approve = (id: string, token = TOKEN, body: object = { by: 'olga' }) =>
  fetch(`${stage.httpUrl}/operator/approvals/${id}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

describe('A send', () => {
  conforms({
    title: 'waits for the end and has every artifact (S002-086, S001-04, S002-174)',
    operation: 'sendMessage',
    request: () => ({ message: says('chunks 5 20') }),
    expect: (reply) => {
      taskState('COMPLETED')(reply);
      expect(textOf(taskIn(reply).artifacts[0])).toBe('chunk 1\nchunk 2\nchunk 3\nchunk 4\nchunk 5\n');
    },
  });
  conforms({
    title: 'waits no longer than for a question (S002-086, S002-093, B32)',
    operation: 'sendMessage',
    request: () => ({ message: says('ask which one?') }),
    expect: (reply) => {
      taskState('INPUT_REQUIRED')(reply);
      const { status, history } = taskIn(reply);
      expect(status.message?.parts[0]?.text).toBe('which one?');
      expect(history.map(({ parts }) => parts[0]?.text)).toEqual(['ask which one?']);
    },
  });

  onEveryBinding(
    'that wants no waiting is answered once the task is stored (S002-087, S000-11, S002-174, B43)',
    async (client) => {
      const task = await start(client, 'sleep 60000');
      expect(['TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING']).toContain(task.status.state);
      expect((await read(client, task.id)).id).toBe(task.id);
      expect((await client.result('cancelTask', { id: task.id })).id).toBe(task.id);
    },
  );
  conformsScripted({
    title: 'that wants no waiting still gets a direct Message (S002-087)',
    operation: 'sendMessage',
    request: () => ({ message: says('chat'), configuration: { returnImmediately: true } }),
    expect: ({ result }) => expect(Object.keys(result!)).toEqual(['message']),
  });
  onEveryBinding('that wants no waiting changes nothing of a stream (S002-087)', async (client) => {
    const configuration = { returnImmediately: true };
    const request = { message: says('chunks 2'), configuration };
    const frames = await (await client.stream('sendStreamingMessage', request)).rest();
    expect(kinds(frames)).toEqual(['task', 'WORKING', 'artifactUpdate', 'artifactUpdate', 'COMPLETED']);
    return frames;
  });

  onEveryScripted(
    'that takes too long is answered with the running task (S002-088)',
    async (client) => {
      const contextId = crypto.randomUUID();
      const task = await send(client, says('wait', { contextId }));
      expect(task.status.state).toBe('TASK_STATE_WORKING');
      Gate.of(gates, task.id).open();
      expect(textOf((await reaches(client, task.id, 'COMPLETED')).artifacts[0])).toBe('at last');
      const { tasks } = await client.result('listTasks', { contextId });
      expect(tasks).toMatchObject([{ id: task.id }]);
    },
    { modernOnly: NO_LISTS },
  );

  it('whose client is gone is found again by its messageId (S002-088, B49)', async () => {
    for (const client of stage.everyone()) {
      const message = says('chunks 3 50');
      const leaver = await client.stream('sendStreamingMessage', { message });
      leaver.leave();
      const again = await send(client, message);
      expect(again.status.state).toBe('TASK_STATE_COMPLETED');
      expect(again.artifacts[0]?.parts).toHaveLength(3);
    }
  });

  for (const historyLength of [0, 1, 2, 9999]) {
    onEveryBinding(
      `returns as much history as is asked for: ${historyLength} (S002-090, B72, B74)`,
      async (client) => {
        const asked = await send(client, 'ask one?');
        const answer = says('ask two?', { taskId: asked.id });
        const task = await send(client, answer, { historyLength });
        const whole = ['ask one?', 'one?', 'ask two?'];
        const expected = historyLength === 0 ? [] : whole.slice(-historyLength);
        expect((task.history ?? []).map(({ parts }) => parts[0]?.text)).toEqual(expected);
        expect((await read(client, task.id)).history).toHaveLength(3);
        return task;
      },
      historyLength === 0 ? { modernOnly: NO_ZERO } : {},
    );
  }
  for (const operation of ['sendMessage', 'sendStreamingMessage'] as const) {
    conforms({
      title: `with a negative historyLength is refused: ${operation} (S002-090, B72)`,
      operation,
      request: () => ({ message: says('hello'), configuration: { historyLength: -1 } }),
      expect: refused('INVALID_PARAMS', 'configuration.historyLength'),
    });
  }
  onEveryBinding(
    'trims the Task of a stream, too (S002-090, B72)',
    async (client) => {
      const request = { message: says('hello'), configuration: { historyLength: 0 } };
      const [frame] = await (await client.stream('sendStreamingMessage', request)).rest();
      expect((frame as { task: TaskJson }).task.history ?? []).toEqual([]);
    },
    { modernOnly: NO_ZERO },
  );
});

describe('A question', () => {
  onEveryBinding(
    'keeps the task, and its answer completes it (S002-093, S002-094, S000-29)',
    async (client) => {
      const asked = await send(client, 'ask what?');
      expect(await read(client, asked.id)).toEqual(asked);
      const done = await send(client, says('this', { taskId: asked.id }));
      expect([done.id, done.contextId]).toEqual([asked.id, asked.contextId]);
      expect(done.status.state).toBe('TASK_STATE_COMPLETED');
      expect(textOf(done.artifacts[0])).toBe('this');
      expect(talk(done)).toEqual(['ask what?', 'what?', 'this']);
      return [asked, done];
    },
  );

  onEveryBinding('ends the stream (S002-097, S001-06)', async (client) => {
    const stream = await client.stream('sendStreamingMessage', { message: says('ask what?') });
    const frames = await stream.rest();
    expect(kinds(frames)).toEqual(['task', 'INPUT_REQUIRED']);
    return frames;
  });

  onEveryBinding('may be waited on: who subscribes sees it answered (S002-098, B02)', async (client) => {
    const { id } = await send(client, 'ask what?');
    const stream = await client.stream('subscribeToTask', { id });
    const { task } = (await stream.next()) as { task: TaskJson };
    expect(task.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
    await send(client, says('this', { taskId: id }));
    const frames = await stream.rest();
    expect(kinds(frames)).toEqual(['artifactUpdate', 'COMPLETED']);
    return frames;
  });

  onEveryScripted('that gets two answers at once keeps both, in one turn at a time (B34)', async (client) => {
    const { id } = await send(client, 'once');
    await Promise.all(['a', 'b'].map((text) => start(client, says(text, { taskId: id }))));
    await expect.poll(() => running.get(id)).toBe(1);
    Gate.of(gates, id).open();
    await expect.poll(() => scripted.replica.runner.get(id)).toBeUndefined();
    const task = await read(client, id);
    expect(task.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
    expect(textOf(task.artifacts[0])).toMatch(/^1 at once: [ab]$/);
    expect(
      talk(task)
        .filter((text) => ['a', 'b'].includes(text))
        .sort(),
    ).toEqual(['a', 'b']);
  });
});

describe('A task that waits for an authorisation', () => {
  onEveryScripted(
    'keeps its stream open and completes without another message (S002-097, B32)',
    async (client) => {
      const stream = await client.stream('sendStreamingMessage', { message: says('login') });
      const { task } = (await stream.next()) as { task: TaskJson };
      expect(kinds([(await stream.next())!])).toEqual(['AUTH_REQUIRED']);
      Gate.of(gates, task.id).open();
      const frames = await stream.rest();
      expect(kinds(frames)).toEqual(['artifactUpdate', 'COMPLETED']);
      expect(textOf((await read(client, task.id)).artifacts[0])).toBe('the secret');
      return frames;
    },
    { modernOnly: EARLIER_END },
  );
  onEveryScripted('does not keep a blocking send (B32)', async (client) => {
    const task = await send(client, 'login');
    expect(task.status.state).toBe('TASK_STATE_AUTH_REQUIRED');
    Gate.of(gates, task.id).open();
    await reaches(client, task.id, 'COMPLETED');
  });

  const deploy = (client: BindingClient) => send(client, `deploy shop ${crypto.randomUUID()} to staging`);

  onEveryBinding(
    'resumes when an operator approves, with no message of the client (S002-095)',
    async (client) => {
      const { id, status } = await deploy(client);
      expect(status.state).toBe('TASK_STATE_AUTH_REQUIRED');
      const stream = await client.stream('subscribeToTask', { id });
      expect((await approve(id)).status).toBe(200);
      expect(kinds(await stream.rest()).at(-1)).toBe('COMPLETED');
      const task = await read(client, id);
      expect(task.artifacts[0]?.parts[0]?.data).toMatchObject({ approvedBy: 'olga', environment: 'staging' });
    },
    { agent: 'deployer' },
  );

  it('is resumed by an operator alone, one approval for one task, and says who it was (S002-096)', async () => {
    const [client] = stage.clients('deployer');
    const [one, other] = [await deploy(client!), await deploy(client!)];
    expect((await approve(one.id, 'wrong')).status).toBe(401);
    expect((await read(client!, one.id)).status.state).toBe('TASK_STATE_AUTH_REQUIRED');
    const answers = await Promise.all([approve(one.id), approve(one.id), approve(one.id)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400]);
    const done = await reaches(client!, one.id, 'COMPLETED');
    expect(done.metadata).toMatchObject({ 'parley.dev/approval': { approved: true, by: 'olga' } });
    expect((await read(client!, other.id)).status.state).toBe('TASK_STATE_AUTH_REQUIRED');
  });
});
