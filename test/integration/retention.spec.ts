import { create } from '@bufbuild/protobuf';
import { Logger } from '@nestjs/common';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { authRequired, completed, inputRequired } from '../../src/agents/index.js';
import { RetentionKeeper } from '../../src/messaging/retention.keeper.js';
import { TaskCloser } from '../../src/messaging/task.closer.js';
import { GetTaskRequestSchema, type Task, TaskState } from '../../src/protocol/index.js';
import { type RetentionStore, SystemClock, TimeOrderedIds } from '../../src/tasks/index.js';
import { PostgresRetentionStore } from '../../src/tasks/postgres-retention.store.js';
import { testConfig } from '../support/config.js';
import { call, House, type Replica, send, until } from '../support/house.js';
import { insertTasks } from '../support/task.rows.mjs';

let house: House;
let replica: Replica;
let client: pg.Client;
let store: RetentionStore;
let aborted: unknown;

beforeAll(async () => {
  Logger.overrideLogger(false);
  house = await House.open();
  client = new pg.Client({ connectionString: house.url });
  await client.connect();
  replica = await house
    .replica({
      script: async function* ({ message: { parts }, signal }) {
        const text = parts[0]!.content.value;
        if (text === 'done') yield completed();
        else if (text === 'ask') yield inputRequired('more?');
        else {
          yield authRequired('may I?');
          await new Promise((resolve) => signal.addEventListener('abort', resolve));
          aborted = signal.reason;
        }
      },
    })
    .live();
  store = new PostgresRetentionStore(replica.postgres);
});
afterAll(async () => {
  await client.end();
  await house.close();
});
beforeEach(() => client.query('TRUNCATE tasks, task_events, push_configs, audit_log CASCADE'));

function keeper(env: Record<string, string> = {}): RetentionKeeper {
  const config = testConfig({ PARLEY_DATABASE_URL: house.url, ...env });
  const closer = new TaskCloser(replica.store, replica.feed, new SystemClock(), new TimeOrderedIds());
  return new RetentionKeeper(config, store, replica.store, closer);
}

async function count(table: string, condition = 'true'): Promise<number> {
  const { rows } = await client.query(`SELECT count(*)::int AS n FROM ${table} WHERE ${condition}`);
  return rows[0].n;
}

async function sent(text: string): Promise<Task> {
  return (await replica.service.sendMessage(send(text), call())).payload.value as Task;
}
const read = (id: string) => replica.service.getTask(create(GetTaskRequestSchema, { id }), call());
const age = (id: string, days: number) =>
  client.query(`UPDATE tasks SET status_at = now() - $2 * interval '1 day' WHERE id = $1`, [id, days]);
const hook = (id: string, state: string, days: number) =>
  client.query(
    `INSERT INTO push_configs (task_id, id, url, host, version, cursor, state, created_at)
     VALUES ($1, $2, 'u', 'h', '1.0', 0, $2, now() - $3 * interval '1 day')`,
    [id, state, days],
  );

describe('what has become too old', () => {
  it('is all gone, with everything that belonged to it, and stuck tasks time out first (B79, S002-168)', async () => {
    await insertTasks(client, { count: 10_000, owners: 50, days: 100 });
    await insertTasks(client, { count: 1_000, owners: 50, state: 6, days: 100, chunks: 1 });
    const first = (await client.query('SELECT id FROM tasks ORDER BY status_at LIMIT 1')).rows[0].id;
    await hook(first, 'open', 100);
    await client.query(
      `INSERT INTO audit_log (at, act, details) VALUES (now() - interval '500 days', 'cancel', '{}')`,
    );
    const env = { PARLEY_KEEP_ENDED: '1m', PARLEY_KEEP_WAITING: '1m' };

    await keeper(env).sweep();
    expect(await count('tasks', 'state = 6')).toBe(0);
    expect(await count('tasks')).toBe(await count('tasks', 'state = 4'));
    expect(await count('tasks')).toBeGreaterThan(990);
    await client.query(`UPDATE tasks SET status_at = status_at - interval '1 day'`);
    await keeper(env).sweep();

    for (const table of ['tasks', 'task_events', 'push_configs', 'audit_log']) {
      expect([table, await count(table)]).toEqual([table, 0]);
    }
  });

  it('fails with the reason when nobody has answered, also where its turn waits with it', async () => {
    const asked = await sent('ask');
    const held = await sent('approve');
    const fresh = await sent('ask');
    await age(asked.id, 31);
    await age(held.id, 31);

    await keeper().sweep();

    for (const { id } of [asked, held]) {
      const { status, metadata } = await read(id);
      expect(status!.state).toBe(TaskState.FAILED);
      expect(metadata).toMatchObject({ 'parley.dev/reason': 'WAITED_TOO_LONG' });
    }
    expect((await read(fresh.id)).status!.state).toBe(TaskState.INPUT_REQUIRED);
    await replica.keeper.heartbeat();
    await until(() => aborted === 'lease-lost');
  });

  it('is what the most specific rule says: of both, an organisation, an agent, all', async () => {
    const rules = 'ever,echo=5d,@acme=10d,echo@acme=20d';
    for (const [agent, organisation] of [
      ['other', ''],
      ['echo', ''],
      ['other', 'acme'],
      ['echo', 'acme'],
    ]) {
      for (const days of [1, 7, 15, 25, 1_000])
        await insertTasks(client, { count: 1, agent, organisation, days: 2 * days });
    }
    await keeper({ PARLEY_KEEP_ENDED: rules }).sweep();
    const { rows } = await client.query(
      'SELECT agent, organisation, count(*)::int AS left FROM tasks GROUP BY 1, 2 ORDER BY 1, 2',
    );
    expect(rows).toEqual([
      { agent: 'echo', organisation: '', left: 1 },
      { agent: 'echo', organisation: 'acme', left: 3 },
      { agent: 'other', organisation: '', left: 5 },
      { agent: 'other', organisation: 'acme', left: 2 },
    ]);
  });

  it('of an ended task are first the chunks of its artifacts, which its snapshot has whole (S000-03)', async () => {
    await insertTasks(client, { count: 20, chunks: 100, days: 40 });
    await insertTasks(client, { count: 20, chunks: 100, days: 1 });
    const { id } = (await client.query('SELECT id FROM tasks ORDER BY status_at LIMIT 1')).rows[0];
    const scope = { organisation: '', owner: 'owner-0', agent: 'echo' };
    const before = await replica.store.read(id, scope);

    await keeper().sweep();

    const old = `task_id IN (SELECT id FROM tasks WHERE status_at < now() - interval '7 days')`;
    expect(await count('task_events', old)).toBe(
      2 * (await count('tasks', `status_at < now() - interval '7 days'`)),
    );
    expect(await count('task_events', `NOT ${old}`)).toBe(102 * (await count('tasks', 'NOT compacted')));
    expect(await count('tasks')).toBe(40);
    expect(await replica.store.read(id, scope)).toEqual(before);
  });

  it('of push are configs that were done or given up; open ones are not', async () => {
    const { id } = await sent('done');
    for (const state of ['done', 'dead', 'open']) await hook(id, state, 8);
    await keeper().sweep();
    expect(await count('push_configs')).toBe(1);
  });

  it('is removed by one replica at a time', async () => {
    await insertTasks(client, { count: 1, days: 1_000 });
    await client.query('BEGIN; SELECT pg_advisory_xact_lock(7292540)');
    await keeper().sweep();
    expect(await count('tasks')).toBe(1);
    await client.query('COMMIT');
    await keeper().sweep();
    expect(await count('tasks')).toBe(0);
  });
});
