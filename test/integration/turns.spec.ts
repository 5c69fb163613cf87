import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  AgentFailure,
  artifact,
  authRequired,
  completed,
  inputRequired,
  message,
  textPart,
  working,
} from '../../src/agents/index.js';
import { type Task } from '../../src/protocol/index.js';
import {
  call,
  collect,
  House,
  kindsOf,
  type ReplicaOptions,
  send,
  stateOf,
  taskOf,
  textOf,
  until,
} from '../support/house.js';

let house: House;
beforeAll(async () => {
  house = await House.open();
});
afterAll(() => house.close());

const open = (script: ReplicaOptions['script'], settings: ReplicaOptions['settings'] = {}) =>
  house.replica({ script, settings });

const answer = (text: string) => artifact({ parts: [textPart(text)] });

describe('a turn', () => {
  it('answers a blocking send with the task as stored', async () => {
    const replica = open(async function* () {
      yield working('on it');
      yield answer('done');
      yield completed();
    });
    const task = taskOf(await replica.service.sendMessage(send('go'), call()));
    expect(stateOf(task)).toBe('COMPLETED');
    expect(task.artifacts[0]).toMatchObject({ artifactId: `${task.id}-response`, name: 'response' });
    expect(task.history.map((m) => m.parts[0]?.content.value)).toEqual(['go', 'on it']);
    expect(await replica.read(task.id)).toEqual(task);
  });

  it('fails the task when the agent throws, without its words (B107, B09)', async () => {
    const replica = open(async function* () {
      yield working();
      throw new Error('password=x');
    });
    const task = taskOf(await replica.service.sendMessage(send('go'), call()));
    expect(stateOf(task)).toBe('FAILED');
    expect(JSON.stringify(task.status?.message)).not.toContain('password');
    expect(await replica.read(task.id)).toEqual(task);
  });

  it('fails the task when the agent throws before its first event, under the id it answers with (B10)', async () => {
    const replica = open(() => {
      throw new AgentFailure('the disk is full');
    });
    const responses = await collect(await replica.service.sendStreamingMessage(send('go'), call()));
    expect(kindsOf(responses)).toEqual(['task', 'FAILED']);
    const id = (responses[0]!.payload.value as Task).id;
    const task = await replica.read(id);
    expect(stateOf(task)).toBe('FAILED');
    expect(task.status?.message?.parts[0]?.content.value).toBe('the disk is full');
  });

  it('answers InvalidAgentResponse when the agent says nothing (B09)', async () => {
    const replica = open(async function* () {}, { directReplies: true });
    await expect(replica.service.sendMessage(send('go'), call())).rejects.toMatchObject({
      kind: 'invalidAgentResponse',
    });
    await expect(replica.service.sendStreamingMessage(send('go'), call())).rejects.toMatchObject({
      kind: 'invalidAgentResponse',
    });
    expect(replica.feed.size).toBe(0);
  });

  it('gives a direct Message alone, and leaves no task behind (S002-003, S002-051)', async () => {
    const replica = open(
      async function* () {
        yield message('hi');
      },
      { directReplies: true },
    );
    const request = send('hello');
    const reply = await replica.service.sendMessage(request, call());
    expect(reply.payload).toMatchObject({ case: 'message', value: { taskId: '', role: 2 } });
    expect((reply.payload.value as { contextId: string }).contextId).not.toBe('');
    const again = await replica.service.sendMessage(request, call());
    expect(again.payload.value).toMatchObject({
      messageId: (reply.payload.value as { messageId: string }).messageId,
    });
    const streamed = await collect(await replica.service.sendStreamingMessage(send('hello'), call()));
    expect(kindsOf(streamed)).toEqual(['message']);
    const immediate = await replica.service.sendMessage(send('x', { now: true }), call());
    expect(immediate.payload.case).toBe('message');
    const list = await replica.service.listTasks({ historyLength: 0 } as never, call());
    expect(
      list.tasks.some((task) => task.contextId === (reply.payload.value as { contextId: string }).contextId),
    ).toBe(false);
  });

  it('loses nothing when an agent mixes Message and Task events (B116)', async () => {
    const replica = open(
      async function* () {
        yield message('first');
        yield inputRequired('which?');
      },
      { directReplies: true },
    );
    const task = taskOf(await replica.service.sendMessage(send('go'), call()));
    expect(stateOf(task)).toBe('INPUT_REQUIRED');
    expect(task.history.map((m) => m.parts[0]?.content.value)).toEqual(['go', 'first']);
    const late = open(
      async function* () {
        await pause(150);
        yield message('late answer');
      },
      { directReplies: true, directReplyWindowMs: 20 },
    );
    const responses = await collect(await late.service.sendStreamingMessage(send('go'), call()));
    expect(kindsOf(responses)).toEqual(['task', 'COMPLETED']);
  });

  it('changes nothing after a terminal state (B45)', async () => {
    const replica = open(async function* () {
      yield completed('the end');
      yield working();
      yield answer('late');
      throw new Error('late');
    });
    const task = taskOf(await replica.service.sendMessage(send('go'), call()));
    await until(() => replica.runner.size === 0);
    expect(await replica.read(task.id)).toEqual(task);
    expect(stateOf(task)).toBe('COMPLETED');
  });

  it('asks, is answered on the same task and completes (S002-093, S002-094, B17)', async () => {
    const replica = open(async function* (turn) {
      if (turn.history.length < 2) yield inputRequired('which branch?');
      else {
        yield answer(`${turn.message.parts[0]?.content.value}`);
        yield completed();
      }
    });
    const asked = taskOf(await replica.service.sendMessage(send('review'), call()));
    expect(stateOf(asked)).toBe('INPUT_REQUIRED');
    const done = taskOf(await replica.service.sendMessage(send('main', { taskId: asked.id }), call()));
    expect(stateOf(done)).toBe('COMPLETED');
    expect(done.id).toBe(asked.id);
    expect(done.history.map((m) => m.parts[0]?.content.value)).toEqual(['review', 'which branch?', 'main']);
    await expect(
      replica.service.sendMessage(send('more', { taskId: asked.id }), call()),
    ).rejects.toMatchObject({
      kind: 'unsupportedOperation',
    });
  });

  it('keeps the stream open at AUTH_REQUIRED and closes it at the end (B32)', async () => {
    const replica = open(async function* () {
      yield authRequired('log in');
      await pause(100);
      yield answer('secret');
      yield completed();
    });
    const responses = await collect(await replica.service.sendStreamingMessage(send('go'), call()));
    expect(kindsOf(responses)).toEqual(['task', 'AUTH_REQUIRED', 'artifactUpdate', 'COMPLETED']);
    const task = taskOf(await replica.service.sendMessage(send('go'), call()));
    expect(stateOf(task)).toBe('AUTH_REQUIRED');
    await until(async () => stateOf(await replica.read(task.id)) === 'COMPLETED');
  });

  it('goes on with an approval, once', async () => {
    const replica = open(async function* (turn) {
      if (!turn.approval) yield authRequired('approve me');
      else yield completed(`by ${turn.approval.by}`);
    });
    const task = taskOf(await replica.service.sendMessage(send('deploy'), call()));
    await until(() => replica.runner.size === 0);
    const answers = await Promise.allSettled(
      ['ann', 'bob'].map((by) => replica.approvals.resolve(task.id, { approved: true, by })),
    );
    expect(answers.map((a) => a.status).sort()).toEqual(['fulfilled', 'rejected']);
    await until(async () => stateOf(await replica.read(task.id)) === 'COMPLETED');
  });

  it('fails a silent agent with the reason and drops its late answer (B12)', async () => {
    let late = () => {};
    const replica = open(
      async function* () {
        await new Promise<void>((resolve) => (late = resolve));
        yield completed('too late');
      },
      { inactivityMs: 100 },
    );
    const task = taskOf(await replica.service.sendMessage(send('go'), call()));
    expect(stateOf(task)).toBe('FAILED');
    late();
    await until(() => replica.runner.size === 0);
    expect(await replica.read(task.id)).toEqual(task);
  });

  it('fails when its task has grown too large to be read at once; what was replaced does not count', async () => {
    const replica = open(
      async function* () {
        for (let n = 0; n < 100; n++)
          yield artifact({ artifactId: 'one', parts: [textPart('x'.repeat(500))] });
        yield working('still small');
        for (;;) yield artifact({ artifactId: 'all', parts: [textPart('x'.repeat(500))] }, { append: true });
      },
      { maxTaskSize: 10_000, window: 4 },
    );
    const task = taskOf(await replica.service.sendMessage(send('go'), call()));
    expect(stateOf(task)).toBe('FAILED');
    expect(task.metadata).toEqual({ 'parley.dev/reason': 'TASK_TOO_LARGE' });
    expect(task.artifacts.map(({ parts }) => parts.length)).toEqual([1, expect.any(Number)]);
    expect(JSON.stringify(task.artifacts).length).toBeGreaterThan(9_000);
  });

  it('is not begun by a message to a task that is too large; a repeat of one that was taken is answered', async () => {
    const replica = open(
      async function* () {
        yield inputRequired({ id: 'more', kind: 'text', text: 'More?' });
      },
      { maxTaskSize: 2_000 },
    );
    const { id } = taskOf(await replica.service.sendMessage(send('go'), call()));
    const large = send('x'.repeat(2_000), { taskId: id });
    await replica.service.sendMessage(large, call());
    await expect(replica.service.sendMessage(send('on', { taskId: id }), call())).rejects.toMatchObject({
      kind: 'payloadTooLarge',
      metadata: { taskId: id, limit: '2000' },
    });
    expect(taskOf(await replica.service.sendMessage(large, call())).id).toBe(id);
    expect(stateOf(await replica.cancel(id))).toBe('CANCELED');
    await expect(replica.service.sendMessage(send('on', { taskId: id }), call())).rejects.toMatchObject({
      kind: 'unsupportedOperation',
    });
  });

  it('takes no more messages of one moment than it has room for', async () => {
    const replica = open(
      async function* () {
        yield inputRequired({ id: 'more', kind: 'text', text: 'More?' });
      },
      { maxTaskSize: 25_000 },
    );
    const { id } = taskOf(await replica.service.sendMessage(send('go'), call()));
    const sends = Array.from({ length: 20 }, () => send('x'.repeat(10_000), { taskId: id, now: true }));
    const answers = await Promise.allSettled(sends.map((each) => replica.service.sendMessage(each, call())));
    const refused = answers.filter((answer) => answer.status === 'rejected');
    expect(new Set(refused.map(({ reason }) => reason.kind))).toEqual(new Set(['payloadTooLarge']));
    expect(answers.length - refused.length).toBeLessThanOrEqual(3);
    const large = (await replica.read(id)).history.filter((each) => textOf(each).length === 10_000);
    expect(large).toHaveLength(answers.length - refused.length);
  });

  it('ends a blocking send at the cap with the running task', async () => {
    const replica = open(
      async function* (turn) {
        yield working();
        await pause(10_000, undefined, { signal: turn.signal }).catch(() => undefined);
      },
      { blockingCapMs: 100 },
    );
    const task = taskOf(await replica.service.sendMessage(send('go'), call()));
    expect(stateOf(task)).toBe('WORKING');
    await replica.cancel(task.id);
  });

  it('lets go of a blocking send whose caller has left, and goes on', async () => {
    let finish = () => {};
    const replica = open(async function* () {
      yield working();
      await new Promise<void>((resolve) => (finish = resolve));
      yield completed();
    });
    let leave: (() => void) | undefined;
    const sent = replica.service.sendMessage(send('go'), call({ onOver: (stop) => (leave = stop) }));
    await until(() => leave !== undefined);
    leave?.();
    const { id } = taskOf(await sent);
    finish();
    await until(async () => stateOf(await replica.read(id)) === 'COMPLETED');
  });

  it('answers at once when asked to, with a task that can be read and cancelled (B43)', async () => {
    const replica = open(async function* (turn) {
      await pause(10_000, undefined, { signal: turn.signal }).catch(() => undefined);
    });
    const task = taskOf(await replica.service.sendMessage(send('go', { now: true }), call()));
    expect(stateOf(task)).toBe('SUBMITTED');
    expect(stateOf(await replica.read(task.id))).toBe('SUBMITTED');
    expect(stateOf(await replica.cancel(task.id))).toBe('CANCELED');
  });
});

describe('messages to a running task', () => {
  it('reach the inbox of the turn and are kept in the history', async () => {
    const replica = open(async function* (turn) {
      yield working();
      for await (const next of turn.inbox) {
        yield answer(`got ${next.parts[0]?.content.value}`);
        yield completed();
      }
    });
    const task = taskOf(await replica.service.sendMessage(send('go', { now: true }), call()));
    await until(async () => stateOf(await replica.read(task.id)) === 'WORKING');
    const done = taskOf(await replica.service.sendMessage(send('more', { taskId: task.id }), call()));
    expect(stateOf(done)).toBe('COMPLETED');
    expect(done.history.map((m) => m.parts[0]?.content.value)).toEqual(['go', 'more']);
    expect(await replica.read(task.id)).toEqual(done);
  });

  it('start the next turn when the turn ends without reading them', async () => {
    let release = () => {};
    const turns: string[] = [];
    const replica = open(async function* (turn) {
      turns.push(`${turn.message.parts[0]?.content.value}`);
      if (turns.length === 1) {
        yield working();
        await new Promise<void>((resolve) => (release = resolve));
        yield inputRequired('?');
      } else yield completed();
    });
    const task = taskOf(await replica.service.sendMessage(send('one', { now: true }), call()));
    await until(async () => stateOf(await replica.read(task.id)) === 'WORKING');
    const second = taskOf(
      await replica.service.sendMessage(send('two', { taskId: task.id, now: true }), call()),
    );
    expect(second.history).toHaveLength(2);
    release();
    await until(async () => stateOf(await replica.read(task.id)) === 'COMPLETED');
    expect(turns).toEqual(['one', 'two']);
  });
});

describe('a repeated message', () => {
  it('gives the same task, also at once and on another replica (B49)', async () => {
    let runs = 0;
    const script: ReplicaOptions['script'] = async function* () {
      runs++;
      yield answer('one');
      yield completed();
    };
    const [a, b] = [open(script), open(script)];
    const request = send('go');
    const replies = await Promise.all(
      Array.from({ length: 10 }, (_, i) => (i % 2 ? a : b).service.sendMessage(request, call())),
    );
    expect(new Set(replies.map((reply) => taskOf(reply).id)).size).toBe(1);
    expect(runs).toBe(1);
    const context = call();
    await a.service.sendMessage(request, context);
    expect(context.reply.get('a2a-idempotent-replay')).toBe('true');
    const other = send('different', { messageId: request.message!.messageId });
    await expect(a.service.sendMessage(other, call())).rejects.toMatchObject({ kind: 'invalidParams' });
    const bob = call({ principal: { organisation: '', subject: 'bob', scopes: new Set() } });
    expect(taskOf(await a.service.sendMessage(request, bob)).id).not.toBe(taskOf(replies[0]!).id);
  });
});
