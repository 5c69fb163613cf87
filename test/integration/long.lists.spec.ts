import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TaskState } from '../../src/protocol/index.js';
import type { DeliveryFilter } from '../../src/push/index.js';
import { deliveries, redeliver } from '../../src/push/postgres-push.sql.js';
import { type ListFilter, list } from '../../src/tasks/postgres-task.sql.js';
import { House, type Replica } from '../support/house.js';
import { insertTasks } from '../support/task.rows.mjs';

const COUNT = 100_000;
/** Tasks that are at work among them. */
const RARE = 60;
const scope = { organisation: '', owner: 'owner-0', agent: 'echo' };

let house: House;
let replica: Replica;
let client: pg.Client;
beforeAll(async () => {
  house = await House.open();
  client = new pg.Client({ connectionString: house.url });
  await client.connect();
  await insertTasks(client, { count: COUNT - RARE, days: 30 });
  await insertTasks(client, { count: RARE, days: 30, state: TaskState.WORKING });
  await client.query('VACUUM ANALYZE tasks');
  replica = house.replica({ script: async function* () {} });
}, 300_000);
afterAll(async () => {
  await client?.end();
  await house?.close();
});

interface Plan {
  readonly 'Node Type': string;
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
  readonly Plans?: Plan[];
}

/** Blocks that the page itself costs, in the plan that serves every call: the one under the limit. */
async function blocksOfPage(filters: readonly ListFilter[], values: readonly unknown[]): Promise<number> {
  const find = (plan: Plan): Plan | undefined =>
    plan['Node Type'] === 'Limit' ? plan : plan.Plans?.map(find).find((found) => found !== undefined);
  return blocksOf(find(await planOf(filters, values))!);
}

const blocksOf = (plan: Plan) => plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];

async function planOf(filters: readonly ListFilter[], values: readonly unknown[]): Promise<Plan> {
  const given = values.map((value) => (typeof value === 'number' ? value : `'${value}'`));
  return replica.postgres.transaction(async (connection) => {
    await connection.query('SET LOCAL plan_cache_mode = force_generic_plan');
    await connection.query(`PREPARE page AS ${list(filters)}`);
    // An explained plan is json, which the pool leaves as text.
    const { rows } = await connection.query(
      `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE page (${given})`,
    );
    await connection.query('DEALLOCATE page');
    return JSON.parse(rows[0]['QUERY PLAN'])[0].Plan;
  });
}

/** The row of that many places down the list. */
async function rowAt(depth: number) {
  const { rows } = await client.query<{ id: string; status_at: Date }>(
    'SELECT id, status_at FROM tasks ORDER BY status_at DESC, id DESC OFFSET $1 LIMIT 1',
    [depth],
  );
  return rows[0]!;
}

describe(`A list of ${COUNT} tasks`, () => {
  it.each([0, 50_000, COUNT - 1_000])(
    'has a page that costs the same however far down it is: %i (S002-107)',
    async (depth) => {
      const { id, status_at } = await rowAt(depth);
      const owner = [scope.organisation, scope.owner, scope.agent];
      const blocks = await blocksOfPage([], [...owner, '-infinity', status_at.toISOString(), id, 51]);
      expect(blocks).toBeLessThan(120);
    },
  );

  it('has one whatever the list is narrowed to (S002-107)', async () => {
    const { id } = await rowAt(70_000);
    const { rows } = await client.query<{ context_id: string }>(
      'SELECT context_id FROM tasks WHERE id = $1',
      [id],
    );
    const values = [scope.organisation, scope.owner, scope.agent, '-infinity', 'infinity', id, 51];
    const state = TaskState.COMPLETED;
    expect(await blocksOfPage(['context_id'], [...values, rows[0]!.context_id])).toBeLessThan(20);
    expect(await blocksOfPage(['state'], [...values, state])).toBeLessThan(120);
  });

  it('is found fast, and counted, where few tasks are in the state that is asked for (S002-107)', async () => {
    const owner = [scope.organisation, scope.owner, scope.agent];
    const values = [...owner, '-infinity', 'infinity', '00000000-0000-0000-0000-000000000000', 51];
    expect(blocksOf(await planOf(['state'], [...values, TaskState.WORKING]))).toBeLessThan(300);
    expect(blocksOf(await planOf(['state'], [...values, TaskState.FAILED]))).toBeLessThan(20);
    const page = await replica.store.list({ scope, limit: 50, state: TaskState.WORKING });
    expect(page).toMatchObject({ total: RARE, more: true });
  });

  it('is told whole, page by page, with the count of all', async () => {
    const seen = new Set<string>();
    let after: { statusAt: number; id: string } | undefined;
    for (let pages = 0; pages < 20; pages++) {
      const page = await replica.store.list({ scope, limit: 100, after });
      expect(page).toMatchObject({ total: COUNT, more: true });
      for (const { task } of page.tasks) seen.add(task.id);
      const last = page.tasks.at(-1)!;
      after = { statusAt: last.statusAt, id: last.task.id };
    }
    expect(seen.size).toBe(2_000);
  });
});

describe(`The deliveries of ${COUNT} tasks`, () => {
  const last = { taskId: '', id: 'a' };
  beforeAll(async () => {
    await client.query(`
      INSERT INTO push_configs (task_id, id, url, host, version, cursor, state)
      SELECT id, 'a', 'https://hook.example/', CASE WHEN n % 1000 = 0 THEN 'rare.example' ELSE 'hook.example' END, '1.0', 2,
        CASE WHEN n % 500 = 0 THEN 'dead' ELSE 'done' END
      FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM tasks) AS t`);
    await client.query('VACUUM ANALYZE push_configs');
    last.taskId = (await rowAt(50_000)).id;
  }, 60_000);

  it.each<[string, Omit<DeliveryFilter, 'limit'>]>([
    ['all', {}],
    ['a host', { host: 'hook.example' }],
    ['a host that is rare', { host: 'rare.example' }],
    ['those that are dead', { state: 'dead' }],
    ['those of a host that are dead', { state: 'dead', host: 'hook.example' }],
    ['an agent', { agent: 'echo' }],
  ])('have pages that cost the same however far down they are: %s', async (_, filter) => {
    for (const after of [undefined, last]) {
      const { text, values } = deliveries({ ...filter, after, limit: 51 });
      const { rows } = await replica.postgres.query<{ 'QUERY PLAN': string }>({
        text: `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`,
        values,
      });
      expect(blocksOf(JSON.parse(rows[0]!['QUERY PLAN'])[0].Plan)).toBeLessThan(500);
    }
  });

  it('are sent again by host, and no others are looked at', async () => {
    const { text, values } = redeliver({ host: 'rare.example' });
    const plan = await replica.postgres.transaction(async (connection) => {
      const explain = `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`;
      const { rows } = await connection.query({ text: explain, values });
      await connection.query('ROLLBACK');
      return JSON.parse(rows[0]['QUERY PLAN'])[0].Plan;
    });
    expect(blocksOf(plan)).toBeLessThan(5_000);
  });

  it('are told whole, page by page', async () => {
    const seen = new Set<string>();
    let after: DeliveryFilter['after'];
    for (let pages = 0; pages < 3; pages++) {
      const rows = await replica.deliveries.deliveries({ state: 'dead', limit: 80, after });
      for (const { taskId } of rows) seen.add(taskId);
      after = { taskId: rows.at(-1)!.taskId, id: rows.at(-1)!.configId };
    }
    expect(seen.size).toBe(COUNT / 500);
  });
});
