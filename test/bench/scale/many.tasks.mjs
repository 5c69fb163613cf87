import { create } from '@bufbuild/protobuf';
import { timestampNow } from '@bufbuild/protobuf/wkt';
import pg from 'pg';
import { loadConfig } from '../../../dist/config/index.js';
import { migrate, Postgres } from '../../../dist/database/index.js';
import { TaskSchema, TaskState } from '../../../dist/protocol/index.js';
import { TimeOrderedIds } from '../../../dist/tasks/index.js';
import { PostgresRetentionStore } from '../../../dist/tasks/postgres-retention.store.js';
import { PostgresTaskStore } from '../../../dist/tasks/postgres-task.store.js';
import { insertTasks } from '../../support/task.rows.mjs';
import { table } from '../text.table.mjs';

const SMALL = 1_000;
const OWNED = 1_000;
const BATCH = 50_000;
const DAY_MS = 86_400_000;
/** How many times longer an operation may take among many tasks. */
const GOAL = 1.5;

/** Each operation among a thousand tasks and among many, as a table. */
export async function manyTasks(cluster, { tasks, repeats }) {
  const small = await medians(await fill(cluster, SMALL), repeats);
  const large = await medians(await fill(cluster, tasks), repeats);
  const rows = Object.keys(small).map((name) => {
    const ratio = large[name] / small[name];
    return [
      name,
      small[name].toFixed(2),
      large[name].toFixed(2),
      `${ratio.toFixed(2)} x`,
      ratio <= GOAL ? 'met' : 'MISSED',
    ];
  });
  return table([['Milliseconds', `${SMALL} tasks`, `${tasks} tasks`, 'ratio', `goal <= ${GOAL} x`], ...rows]);
}

/** A database with so many tasks, a thousand of each caller, up to 120 days old. */
async function fill(cluster, count) {
  const url = await cluster.createDatabase();
  await migrate(url);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('SET synchronous_commit = off');
  for (let left = count; left > 0; left -= BATCH) {
    const batch = Math.min(left, BATCH);
    await insertTasks(client, { count: batch, owners: Math.ceil(count / OWNED), days: 120, chunks: 2 });
  }
  await client.query('VACUUM ANALYZE');
  const { rows } = await client.query('SELECT id, owner FROM tasks ORDER BY random() LIMIT 1000');
  await client.end();
  return { url, rows };
}

const scopeOf = (owner) => ({ organisation: '', owner, agent: 'echo' });

/** Milliseconds of each operation, in the order of the table. */
function operations(postgres, rows) {
  const store = new PostgresTaskStore(postgres, { holder: 'bench', leaseMs: 60_000 });
  const retention = new PostgresRetentionStore(postgres);
  const ids = new TimeOrderedIds();
  const any = () => rows[Math.floor(Math.random() * rows.length)];
  return {
    GetTask: () => {
      const { id, owner } = any();
      return store.read(id, scopeOf(owner));
    },
    'ListTasks, first page': () => store.list({ scope: scopeOf(any().owner), limit: 50 }),
    'ListTasks, deep page': () => {
      const after = { statusAt: Date.now() - 100 * DAY_MS, id: ids.next() };
      return store.list({ scope: scopeOf(any().owner), limit: 50, after });
    },
    'Send: create and end': async () => {
      const status = { state: TaskState.SUBMITTED, timestamp: timestampNow() };
      const task = create(TaskSchema, { id: ids.next(), contextId: ids.next(), status });
      const lease = await store.create({
        scope: scopeOf(any().owner),
        agentVersion: '1.0.0',
        task,
        request: {},
      });
      const end = {
        case: 'statusUpdate',
        value: {
          taskId: task.id,
          contextId: task.contextId,
          status: { ...status, state: TaskState.COMPLETED },
        },
      };
      const events = [{ $typeName: 'lf.a2a.v1.StreamResponse', payload: end }];
      await store.append({
        lease,
        written: 0,
        events,
        state: TaskState.COMPLETED,
        statusAt: Date.now(),
        end: { read: 1 },
      });
    },
    'Retention, nothing to do': () => retention.remove('tasks', [{ ms: 1_000 * DAY_MS }]),
    'Retention, one batch': () => retention.remove('tasks', [{ ms: 119 * DAY_MS }]),
  };
}

async function medians({ url, rows }, repeats) {
  const env = { PARLEY_DATABASE_URL: url, PARLEY_HTTP_PORT: '0', PARLEY_GRPC_PORT: '0' };
  const postgres = new Postgres(loadConfig(env));
  const found = {};
  for (const [name, operation] of Object.entries(operations(postgres, rows))) {
    // A batch can be removed once.
    const times = name.endsWith('one batch') ? 1 : repeats;
    const taken = [];
    for (let i = 0; i < times; i += 1) {
      const start = performance.now();
      const removed = await operation();
      taken.push((performance.now() - start) / (times === 1 ? Math.max(removed, 1) : 1));
    }
    found[name] = taken.sort((a, b) => a - b)[Math.floor(taken.length / 2)];
  }
  await postgres.onApplicationShutdown();
  return found;
}
