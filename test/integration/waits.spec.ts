import { timestampMs } from '@bufbuild/protobuf/wkt';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { authRequired, completed, inputRequired } from '../../src/agents/index.js';
import { Role, type Task, TaskState } from '../../src/protocol/index.js';
import type { WaitLog, WaitNotice } from '../../src/tasks/index.js';
import { PostgresWaitLog } from '../../src/tasks/postgres-wait.log.js';
import { PostgresWaitingStore } from '../../src/tasks/postgres-waiting.store.js';
import { call, House, type Replica, send, until } from '../support/house.js';

let house: House;
let replica: Replica;
let waits: WaitLog;

beforeAll(async () => {
  house = await House.open();
  replica = await house
    .replica({
      script: async function* ({ message: { parts }, approval }) {
        const text = parts[0]!.content.value;
        if (text === 'ask') yield inputRequired('what?');
        else if (text === 'auth' && !approval) yield authRequired('may I?');
        else yield completed();
      },
    })
    .live();
  waits = new PostgresWaitLog(replica.postgres);
});
afterAll(() => house.close());
beforeEach(async () => {
  await replica.postgres.query({ text: 'TRUNCATE tasks, task_events, waits CASCADE' });
});

const begin = async (text: string) =>
  ((await replica.service.sendMessage(send(text), call())).payload.value as Task).id;
const approve = (id: string) => replica.approvals.resolve(id, { approved: true, by: 'ann' });
const changes = async (after = 0, more: object = {}) =>
  (await waits.changes({ after, limit: 100, ...more })).map(({ taskId, kind }) => [kind, taskId]);
const last = async () => (await waits.changes({ after: 0, limit: 100 })).at(-1)!.number;

/** What is due to be told, once it is. */
async function due(): Promise<WaitNotice> {
  let notices: readonly WaitNotice[] = [];
  await until(async () => {
    notices = await waits.notices(10, 60_000);
    return notices.length > 0;
  });
  expect(notices).toHaveLength(1);
  return notices[0]!;
}

describe('the log of waits', () => {
  it('has each wait once, in the order in which they began, until it ends', async () => {
    const [asked, auth] = [await begin('ask'), await begin('auth')];
    await Promise.all([waits.look(false), waits.look(false)]);
    await waits.look(false);

    expect(await changes()).toEqual([
      ['waiting', asked],
      ['waiting', auth],
    ]);
    expect(await changes(0, { state: TaskState.AUTH_REQUIRED })).toEqual([['waiting', auth]]);
    expect(await changes(0, { agent: 'other' })).toEqual([]);

    const seen = await last();
    await approve(auth);
    const late = await begin('ask');
    await waits.look(false);
    expect(await changes(seen)).toEqual([
      ['resolved', auth],
      ['waiting', late],
    ]);
    expect(await changes()).toEqual([
      ['waiting', asked],
      ['waiting', late],
    ]);
  });

  it('knows a wait that begins anew from the one before', async () => {
    const id = await begin('ask');
    await waits.look(false);
    const seen = await last();
    await replica.service.sendMessage(send('ask', { taskId: id }), call());
    await waits.look(false);

    expect(await changes(seen)).toEqual([
      ['resolved', id],
      ['waiting', id],
    ]);
  });

  it('ends the wait of a task that is gone', async () => {
    const id = await begin('ask');
    await waits.look(false);
    const seen = await last();
    await replica.postgres.query({ text: 'DELETE FROM tasks' });
    await waits.look(false);

    expect(await changes(seen)).toEqual([['resolved', id]]);
  });

  it('says nothing of a wait that was over before anybody looked', async () => {
    await approve(await begin('auth'));
    await waits.look(true);

    expect(await changes()).toEqual([]);
    expect(await waits.notices(10, 1)).toEqual([]);
  });

  it('is kept by one replica at a time', async () => {
    await begin('ask');
    const client = await replica.postgres.pool.connect();
    await client.query('BEGIN; SELECT pg_advisory_xact_lock(7292541)');
    await waits.look(false);
    expect(await changes()).toEqual([]);
    await client.query('COMMIT');
    client.release();
    await waits.look(false);
    expect(await changes()).toHaveLength(1);
  });

  it('forgets what ended a week ago', async () => {
    await begin('ask');
    await waits.look(false);
    await replica.postgres.query({ text: 'DELETE FROM tasks' });
    await waits.look(false);
    await replica.postgres.query({ text: `UPDATE waits SET ended_at = now() - interval '8 days'` });
    await waits.look(false);

    expect((await replica.postgres.query({ text: 'SELECT FROM waits' })).rows).toHaveLength(0);
  });
});

describe('a notice of a wait', () => {
  it('is given to one teller at a time, of its beginning and then of its end', async () => {
    const id = await begin('auth');
    await waits.look(true);
    const began = await due();
    expect(began).toMatchObject({ taskId: id, kind: 'waiting', tries: 0 });
    expect(await waits.notices(10, 60_000)).toEqual([]);
    await waits.report(began, 'told');
    expect(await waits.notices(10, 60_000)).toEqual([]);

    await approve(id);
    await waits.look(true);
    const ended = await due();
    expect(ended).toMatchObject({ taskId: id, kind: 'resolved' });
    await waits.report(ended, 'told');
    await waits.look(true);
    expect(await waits.notices(10, 60_000)).toEqual([]);
  });

  it('of its end follows also where it ended while its beginning was being told', async () => {
    const id = await begin('auth');
    await waits.look(true);
    const began = await due();
    await approve(id);
    await waits.look(true);
    await waits.report(began, 'told');

    expect(await due()).toMatchObject({ taskId: id, kind: 'resolved' });
  });

  it('is tried again after a pause, counted, and given up', async () => {
    await begin('auth');
    await waits.look(true);
    await waits.report(await due(), 1);
    const again = await due();
    expect(again.tries).toBe(1);
    await waits.report(again, undefined);
    await waits.look(true);

    expect(await waits.notices(10, 60_000)).toEqual([]);
  });

  it('is given to another when its teller was never heard of again', async () => {
    await begin('auth');
    await waits.look(true);
    expect(await waits.notices(10, 1)).toHaveLength(1);

    expect((await due()).kind).toBe('waiting');
  });

  it('that nobody could be given before the wait ended is not told at all', async () => {
    const id = await begin('auth');
    await waits.look(true);
    await approve(id);
    await waits.look(true);

    expect(await waits.notices(10, 60_000)).toEqual([]);
  });
});

describe('an answer', () => {
  it('is one of all that come for one wait, and the last that anybody is asked for', async () => {
    let goOn = () => {};
    const gate = new Promise<void>((resolve) => (goOn = resolve));
    const slow = house.replica({
      script: async function* ({ history }) {
        if (history.length === 1) return yield inputRequired('what?');
        await gate;
        yield completed();
      },
    });
    const id = await slow.begin();
    await until(async () => (await slow.read(id)).status!.state === TaskState.INPUT_REQUIRED);
    await waits.look(false);
    const answers = await Promise.allSettled(
      ['ann', 'bob'].map((by) => slow.approvals.answer(id, { text: 'blue', by })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);

    const late = slow.approvals.answer(id, { text: 'red', by: 'eve' });
    await expect(late).rejects.toMatchObject({ kind: 'unsupportedOperation' });
    // Retention leaves it alone, too, as old as the question may be.
    expect(
      await slow.store.acquire(id, timestampMs((await slow.read(id)).status!.timestamp!)),
    ).toBeUndefined();
    const listed = await new PostgresWaitingStore(slow.postgres, slow.store).waiting({ limit: 10 });
    expect(listed).toEqual([]);
    await waits.look(false);
    expect(await changes()).toEqual([]);
    expect((await slow.read(id)).status!.state).toBe(TaskState.INPUT_REQUIRED);
    goOn();
    await until(async () => (await slow.read(id)).status!.state === TaskState.COMPLETED);
    expect((await slow.read(id)).history.filter(({ role }) => role === Role.USER)).toHaveLength(2);
  });
});

describe('an approval', () => {
  it('for a wait that is over is refused, though the task waits again', async () => {
    const id = await begin('ask');
    const stored = await replica.store.find(id);
    const { seconds, nanos } = stored!.stored.task.status!.timestamp!;
    const since = Number(seconds) * 1000 + nanos / 1e6;
    await replica.service.sendMessage(send('ask', { taskId: id }), call());

    const stale = replica.approvals.answer(id, { text: 'late', by: 'ann' }, since);
    await expect(stale).rejects.toMatchObject({ kind: 'unsupportedOperation' });
    await replica.approvals.answer(id, { text: 'done', by: 'ann' });
    await until(
      async () => (await replica.store.find(id))!.stored.task.status!.state === TaskState.COMPLETED,
    );
  });
});
