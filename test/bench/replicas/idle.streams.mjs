import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { beginTasks, cancelTasks } from './begin.tasks.mjs';

const STREAMS = 1_000;
const TASKS = 20;
const PAGE = 4_096;
const SETTLE_MS = 5_000;

/** Subscriptions to tasks that say nothing, half of them on each replica. */
export async function idleStreams({ replicas, databaseUrl, quick }) {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 });
  const halves = await Promise.all(replicas.map((replica) => beginTasks(replica, 'sleep 600000', TASKS / 2)));
  const ids = halves.flat();
  // What the first streams cost once (code, buffers) is not what each one costs.
  await closeAll(await openStreams(replicas, ids, STREAMS / 10));
  await delay(quick ? 1_000 : SETTLE_MS);
  const before = await look(replicas, pool);
  const streams = await openStreams(replicas, ids, STREAMS);
  await delay(quick ? 1_000 : SETTLE_MS);
  const open = await look(replicas, pool);
  await closeAll(streams);
  await delay(quick ? 1_000 : SETTLE_MS);
  const after = await look(replicas, pool);
  await cancelTasks(replicas[0], ids);
  await pool.end();
  const perStream = (open.bytes - before.bytes) / STREAMS / 1_024;
  return [
    ['streams, tasks', `${STREAMS}, ${TASKS}`],
    ['memory per stream, socket included', `${perStream.toFixed(1)} kB`],
    ['sockets before, with streams, after', `${before.sockets}, ${open.sockets}, ${after.sockets}`],
    [
      'connections to Postgres before, with streams, after',
      `${before.sessions}, ${open.sessions}, ${after.sessions}`,
    ],
  ];
}

async function openStreams(replicas, ids, count) {
  const agent = new Agent({ keepAlive: false });
  return Promise.all(
    Array.from({ length: count }, (_, index) => {
      const { url } = replicas[index % replicas.length];
      const id = ids[index % ids.length];
      return new Promise((resolve, reject) => {
        const headers = { 'a2a-version': '1.0' };
        const request = get(`${url}/rest/tasks/${id}:subscribe`, { agent, headers }, (response) => {
          response.on('error', () => undefined).once('data', () => resolve(request));
        });
        request.on('error', reject);
      });
    }),
  );
}

async function closeAll(requests) {
  for (const request of requests)
    request
      .removeAllListeners('error')
      .on('error', () => undefined)
      .destroy();
}

async function look(replicas, pool) {
  const { rows } = await pool.query(
    "SELECT count(*)::int AS sessions FROM pg_stat_activity WHERE application_name LIKE 'parley%' AND datname = current_database()",
  );
  const pids = replicas.map(({ pid }) => pid);
  return {
    sessions: rows[0].sessions,
    bytes: sum(pids.map((pid) => Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * PAGE)),
    sockets: sum(pids.map(socketsOf)),
  };
}

function socketsOf(pid) {
  const folder = `/proc/${pid}/fd`;
  const links = readdirSync(folder).map((fd) => {
    try {
      return readlinkSync(`${folder}/${fd}`);
    } catch {
      return '';
    }
  });
  return links.filter((link) => link.startsWith('socket:')).length;
}

const sum = (values) => values.reduce((total, value) => total + value, 0);
