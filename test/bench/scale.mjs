import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { create } from '@bufbuild/protobuf';
import { timestampNow } from '@bufbuild/protobuf/wkt';
import { program } from 'commander';
import pg from 'pg';
import { loadConfig } from '../../dist/config/index.js';
import { migrate, Postgres } from '../../dist/database/index.js';
import { TaskSchema, TaskState } from '../../dist/protocol/index.js';
import { TimeOrderedIds } from '../../dist/tasks/index.js';
import { PostgresRetentionStore } from '../../dist/tasks/postgres-retention.store.js';
import { PostgresTaskStore } from '../../dist/tasks/postgres-task.store.js';
import { insertTasks } from '../support/task.rows.mjs';
import { freePort } from './machine.mjs';
import { startCluster } from './postgres.cluster.mjs';
import { startServer } from './server.process.mjs';
import { table } from './text.table.mjs';

const SMALL = 1_000;
const OWNED = 1_000;
const BATCH = 50_000;
const DAY_MS = 86_400_000;

const { tasks, streams, repeats } = program
  .name('npm run bench:scale --')
  .description('Measures what many tasks cost, as ratios to a thousand, and what idle streams cost.')
  .option('--tasks <n>', 'tasks in the large database', Number, 1_000_000)
  .option(
    '--streams <n>',
    'idle streams on one replica; the open files of a process limit them',
    Number,
    10_000,
  )
  .option('--repeats <n>', 'of each operation, of which the median counts', Number, 300)
  .parse()
  .opts();

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
      const lease = await store.create({ scope: scopeOf(any().owner), agentVersion: '1.0.0', task, request: {} });
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

async function medians({ url, rows }) {
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

async function idleStreams(cluster, dir) {
  const port = await freePort();
  const settings = {
    PARLEY_HTTP_PORT: port,
    PARLEY_GRPC_PORT: await freePort(),
    PARLEY_DATABASE_URL: await cluster.createDatabase(),
    PARLEY_DATA_DIR: join(dir, 'parley'),
    PARLEY_DRAIN_MS: 0,
  };
  const server = startServer([fileURLToPath(new URL('../../dist/main.js', import.meta.url))], {
    dir,
    settings,
  });
  const url = `http://127.0.0.1:${port}`;
  await server.until(async () => (await fetch(`${url}/health/ready`)).ok);
  const id = await startTask(url);
  const memory = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))[1]);
  const warm = await Promise.all(Array.from({ length: 200 }, () => subscribe(port, id)));
  const before = memory();
  const opened = [];
  for (let left = streams; left > 0; left -= 500) {
    opened.push(
      ...(await Promise.all(Array.from({ length: Math.min(left, 500) }, () => subscribe(port, id)))),
    );
  }
  const each = (memory() - before) / streams;
  const start = performance.now();
  await post(`${url}/rest/tasks/${id}:cancel`, {});
  await Promise.all([...warm, ...opened].map(({ ended }) => ended));
  const told = performance.now() - start;
  await server.stop();
  return { each, told };
}

const post = async (url, body) => {
  const headers = { 'a2a-version': '1.0', 'content-type': 'application/json' };
  return (await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })).json();
};

async function startTask(url) {
  const message = { messageId: 'idle', role: 'ROLE_USER', parts: [{ text: 'sleep 3600000' }] };
  const { task } = await post(`${url}/rest/message:send`, {
    message,
    configuration: { returnImmediately: true },
  });
  return task.id;
}

/** Resolves with the first frame. `ended` resolves with the last. */
function subscribe(port, id) {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('error', reject);
    const ended = new Promise((over) =>
      socket.on('data', (text) => text.includes('CANCELED') && over(socket.destroy())),
    );
    socket.once('data', () => resolve({ ended }));
    socket.write(`GET /rest/tasks/${id}:subscribe HTTP/1.1\r\nhost: localhost\r\na2a-version: 1.0\r\n\r\n`);
  });
}

const dir = mkdtempSync(join(tmpdir(), 'parley-bench-'));
// On a root account Postgres runs as another user, who must get to its folder.
chmodSync(dir, 0o755);
const cluster = await startCluster({ dir });
try {
  const small = await medians(await fill(cluster, SMALL));
  process.stderr.write(`making ${tasks} tasks\n`);
  const large = await medians(await fill(cluster, tasks));
  const rows = Object.keys(small).map((name) => [
    name,
    small[name].toFixed(2),
    large[name].toFixed(2),
    `${(large[name] / small[name]).toFixed(2)} x`,
  ]);
  console.log(
    table([['Milliseconds', `${SMALL} tasks`, `${tasks} tasks`, 'ratio (goal <= 1.5 x)'], ...rows]),
  );
  if (streams > 0) {
    const { each, told } = await idleStreams(cluster, dir);
    console.log(
      `\n${streams} idle streams: ${each.toFixed(1)} kB each (goal <= 15), told of an event in ${Math.round(told)} ms`,
    );
  }
} finally {
  await cluster.stop();
}
rmSync(dir, { recursive: true, force: true });
