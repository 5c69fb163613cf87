import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PostgresCallbacks } from '../../src/agents/backends/postgres-callbacks.js';
import { authRequired, inputRequired, working } from '../../src/agents/index.js';
import { TaskState } from '../../src/protocol/index.js';
import { PostgresWaitingStore } from '../../src/tasks/postgres-waiting.store.js';
import { call, House, type Replica, send, until } from '../support/house.js';

let house: House;
let replica: Replica;
let here: PostgresCallbacks;
let there: PostgresCallbacks;
beforeAll(async () => {
  house = await House.open();
  replica = house.replica({
    env: { PARLEY_DRAIN_MS: '0' },
    script: async function* ({ message, signal, inbox }) {
      const [part] = message.parts;
      const text = part?.content.case === 'text' ? part.content.value : '';
      if (text === 'ask') yield inputRequired();
      else if (text === 'auth') yield authRequired();
      else {
        yield working();
        if (!signal.aborted) for await (const _ of inbox) return;
      }
    },
  });
  await replica.live();
  here = new PostgresCallbacks(replica.postgres);
  there = new PostgresCallbacks(house.replica({ script: async function* () {} }).postgres);
  here.listenAt('https://parley.example');
});
afterAll(() => house.close());

async function begin(text: string): Promise<string> {
  const { payload } = await replica.service.sendMessage(send(text, { now: true }), call());
  return payload.case === 'task' ? payload.value.id : '';
}

async function addressOf(taskId: string) {
  const address = await here.addressOf({ taskId, turn: 1 });
  return { taskId, turn: 1, signature: address?.split('/').at(-1) ?? '' };
}

/** The events of the first `count` deliveries. */
async function read(taskId: string, count: number, n = 0): Promise<unknown[]> {
  const all: unknown[] = [];
  for await (const { events } of here.follow({ taskId, turn: 1 }, n, AbortSignal.timeout(10_000))) {
    all.push(...events);
    if (--count === 0) break;
  }
  return all;
}

describe('A callback address', () => {
  it('is answered by every replica; whoever waits reads all in order', async () => {
    const address = await addressOf(await begin('work'));
    const reading = read(address.taskId, 3);

    expect(await there.post({ ...address, events: [1] })).toBe('taken');
    expect(await here.post({ ...address, events: [2, 3] })).toBe('taken');
    expect(await there.post({ ...address, events: [4] })).toBe('taken');
    expect(await reading).toEqual([1, 2, 3, 4]);
    expect(await read(address.taskId, 1, 2)).toEqual([4]);
  });

  it('loses none of many at once, and numbers them without gap', async () => {
    const address = await addressOf(await begin('work'));
    const posts = Array.from({ length: 20 }, (_, n) =>
      (n % 2 ? here : there).post({ ...address, events: [n] }),
    );

    expect(new Set(await Promise.all(posts))).toEqual(new Set(['taken']));
    expect(((await read(address.taskId, 20)) as number[]).sort((a, b) => a - b)).toEqual([
      ...Array(20).keys(),
    ]);
  });

  it('takes the same delivery once where it has a key', async () => {
    const address = await addressOf(await begin('work'));
    for (const replica of [here, there]) {
      expect(await replica.post({ ...address, events: ['once'], key: 'k' })).toBe('taken');
    }
    await here.post({ ...address, events: ['last'] });
    expect(await read(address.taskId, 2)).toEqual(['once', 'last']);
  });

  it('is good for its own turn alone', async () => {
    const address = await addressOf(await begin('work'));
    const other = await addressOf(await begin('work'));

    expect(await here.post({ ...address, turn: 2, events: [1] })).toBe('unknown');
    expect(await here.post({ ...address, taskId: other.taskId, events: [1] })).toBe('unknown');
    expect(await here.post({ ...address, signature: '', events: [1] })).toBe('unknown');
  });

  it('takes nothing when the task has ended', async () => {
    const address = await addressOf(await begin('work'));
    await replica.service.cancelTask(
      { $typeName: 'lf.a2a.v1.CancelTaskRequest', tenant: '', id: address.taskId },
      call(),
    );
    expect(await there.post({ ...address, events: [1] })).toBe('ended');
  });

  it('takes nothing when its turn has ended, but knows what it took before', async () => {
    const address = await addressOf(await begin('work'));
    expect(await here.post({ ...address, events: [1], key: 'k' })).toBe('taken');
    const text = `UPDATE tasks SET read_seq = inbox_seq WHERE id = $1`;
    await replica.postgres.query({ text, values: [address.taskId] });
    expect(await there.post({ ...address, events: [1], key: 'k' })).toBe('taken');
    expect(await there.post({ ...address, events: [2] })).toBe('ended');

    const asked = await begin('ask');
    const rests = async () => (await replica.read(asked)).status?.state === TaskState.INPUT_REQUIRED;
    await until(rests);
    expect(await here.post({ ...(await addressOf(asked)), events: [1] })).toBe('ended');
    await replica.service.sendMessage(send('ask', { taskId: asked }), call());
    expect(await here.post({ ...(await addressOf(asked)), events: [1] })).toBe('ended');
    await replica.cancel(asked);
  });
});

describe('Waiting tasks', () => {
  it('are listed for operators with state and caller, and gone once they are answered', async () => {
    const waiting = new PostgresWaitingStore(replica.postgres, replica.store);
    const [asks, auth] = [await begin('ask'), await begin('auth')];
    const ids = async (more = {}) =>
      (await waiting.waiting({ limit: 10, ...more })).map(({ task }) => task.id);
    await until(async () => (await ids()).length === 2);

    expect(new Set(await ids())).toEqual(new Set([asks, auth]));
    expect(await ids({ state: TaskState.AUTH_REQUIRED })).toEqual([auth]);
    expect(await ids({ agent: 'other' })).toEqual([]);
    const [first] = await waiting.waiting({ limit: 1 });
    expect(first).toMatchObject({ scope: { owner: 'alice', agent: 'echo' } });
    const rest = await ids({ after: { since: first!.since, id: first!.task.id } });
    expect([first!.task.id, ...rest].sort()).toEqual([asks, auth].sort());

    await replica.approvals.answer(asks, { text: 'work', by: 'ann' });
    await replica.approvals.resolve(auth, { approved: true, by: 'ann' });
    await until(async () => !(await ids()).includes(asks));
    const { task } = (await replica.store.find(asks))!.stored;
    expect(task.history.at(-1)?.metadata).toEqual({ 'parley.dev/answeredBy': 'ann' });
    await expect(replica.approvals.answer(asks, { text: 'again', by: 'ann' })).rejects.toThrow(
      'does not wait for input',
    );
  });
});
