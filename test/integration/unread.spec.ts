import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { completed, inputRequired, message, working } from '../../src/agents/index.js';
import { type Task, TaskState } from '../../src/protocol/index.js';
import {
  call,
  collect,
  House,
  type Replica,
  type ReplicaOptions,
  send,
  stateOf,
  textOf,
  until,
} from '../support/house.js';

let house: House;
beforeEach(async () => {
  house = await House.open();
});
afterEach(() => house.close());

const say = (replica: Replica, taskId: string, text: string) =>
  replica.service.sendMessage(send(text, { taskId, now: true }), call());

describe('messages that no turn has read', () => {
  it('start turns one after the other, the oldest first, none left out', async () => {
    const seen: string[] = [];
    let release = () => {};
    const replica = house.replica({
      script: async function* (turn) {
        seen.push(textOf(turn.message));
        yield working();
        if (seen.length === 1) await new Promise<void>((resolve) => (release = resolve));
        yield seen.length === 4 ? completed() : inputRequired('?');
      },
    });
    const id = await replica.begin('m1');
    await until(async () => stateOf(await replica.read(id)) === 'WORKING');
    for (const text of ['m2', 'm3', 'm4']) await say(replica, id, text);
    release();
    await until(async () => stateOf(await replica.read(id)) === 'COMPLETED');
    expect(seen).toEqual(['m1', 'm2', 'm3', 'm4']);
  });

  it('wait in the inbox of a turn that is run again after a crash, whose own message starts it again', async () => {
    const script = (dies: boolean): ReplicaOptions['script'] =>
      async function* (turn) {
        yield working();
        if (dies) await new Promise((resolve) => turn.signal.addEventListener('abort', resolve));
        const later: string[] = [];
        for await (const next of turn.inbox) {
          later.push(textOf(next));
          break;
        }
        yield completed(`${textOf(turn.message)}, then ${later}`);
      };
    const settings = { crash: { retries: 1 } };
    const dead = house.replica({ script: script(true), leaseMs: 200, settings });
    const id = await dead.begin('first');
    await until(async () => stateOf(await dead.read(id)) === 'WORKING');
    await say(dead, id, 'second');
    const heir = await house.replica({ script: script(false), leaseMs: 60_000, settings }).live();
    await until(async () => stateOf(await heir.read(id)) === 'COMPLETED');
    expect(textOf((await heir.read(id)).status!.message!)).toBe('first, then second');
    await dead.keeper.heartbeat();
  });
});

describe('a follow-up beside others', () => {
  it('is not answered with the question that was there before it, nor is its repeat', async () => {
    let release = () => {};
    const replica = house.replica({
      script: async function* (turn) {
        if (turn.history.filter(({ role }) => role === 1).length === 1) {
          yield inputRequired('?');
          return;
        }
        yield working();
        await new Promise<void>((resolve) => (release = resolve));
        yield completed();
      },
    });
    const asked = await replica.service.sendMessage(send('ask'), call());
    const { id } = asked.payload.value as Task;
    const same = send('same', { taskId: id });
    const requests = [same, same, send('other', { taskId: id }), send('third', { taskId: id })];
    const answers = Promise.all([
      replica.service.sendStreamingMessage(same, call()).then(collect),
      ...requests.map((request) => replica.service.sendMessage(request, call())),
    ]);
    const said = async () => (await replica.read(id)).history.filter(({ role }) => role === 1).length;
    await until(async () => (await said()) === 4);
    release();
    const [streamed, ...replies] = await answers;
    expect(replies.map((reply) => stateOf(reply.payload.value as Task))).toEqual(Array(4).fill('COMPLETED'));
    expect(streamed.at(-1)?.payload).toMatchObject({
      value: { status: { state: TaskState.COMPLETED } },
    });
  });
});

describe('a task that was shown before its agent replied directly', () => {
  it('stays a task, also where a repeat or a list showed it', async () => {
    const waiting: (() => void)[] = [];
    const replica = house.replica({
      script: async function* () {
        await new Promise<void>((resolve) => waiting.push(resolve));
        yield message('hi');
      },
      settings: { directReplies: true, directReplyWindowMs: 20 },
    });
    const request = send('hello');
    const first = replica.service.sendMessage(request, call());
    await until(() => replica.runner.size === 1);
    const repeat = send('hello', { messageId: request.message!.messageId, now: true });
    const shown = (await replica.service.sendMessage(repeat, call())).payload.value as Task;
    const blocking = replica.service.sendMessage(send('again'), call());
    await until(() => replica.runner.size === 2);
    const list = await replica.service.listTasks({} as never, call());
    for (const go of waiting) go();
    await until(() => replica.runner.size === 0);
    expect(list.tasks.length).toBeGreaterThan(0);
    for (const { id } of [shown, ...list.tasks]) expect((await replica.read(id)).id).toBe(id);
    await first;
    await blocking;
  });
});
