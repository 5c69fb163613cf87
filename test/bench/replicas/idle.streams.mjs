import { readdirSync, readlinkSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { memoryOf, untilIdle } from '../memory.mjs';
import { beginTasks, cancelTasks } from './begin.tasks.mjs';

const STREAMS = 1_000;
const TASKS = 20;
const QUICK_MS = 1_000;
/** Kilobytes that an idle stream may cost. */
const GOAL_KB = 15;

/** Subscriptions to tasks that say nothing, half of them on each replica. */
export async function idleStreams({ replicas, databaseUrl, memoryFiles, quick }) {
  const settle = () => (quick ? delay(QUICK_MS) : untilIdle());
  const look = () => lookAt({ replicas, memoryFiles, pool });
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 });
  const halves = await Promise.all(replicas.map((replica) => beginTasks(replica, 'sleep 600000', TASKS / 2)));
  const ids = halves.flat();
  // What the first streams cost once (code, buffers) is not what each one costs.
  await closeAll(await openStreams(replicas, ids, STREAMS / 10));
  await settle();
  const before = await look();
  const streams = await openStreams(replicas, ids, STREAMS);
  await settle();
  const open = await look();
  await closeAll(streams);
  await settle();
  const after = await look();
  await cancelTasks(replicas[0], ids);
  await pool.end();
  const each = (what) => (open[what] - before[what]) / STREAMS / 1_024;
  const isMet = each('rss') <= GOAL_KB && after.sockets <= before.sockets;
  return [
    ['streams, running tasks', `${STREAMS}, ${TASKS}`],
    ['memory of each, of the whole process', `${each('rss').toFixed(1)} kB (goal <= ${GOAL_KB})`],
    [
      '  of that JavaScript objects, buffers',
      `${each('heapUsed').toFixed(1)} kB, ${each('external').toFixed(1)} kB`,
    ],
    [
      'connections to Postgres before, with streams, after',
      `${before.sessions}, ${open.sessions}, ${after.sessions}`,
    ],
    ['other sockets before, with streams, after', `${before.sockets}, ${open.sockets}, ${after.sockets}`],
    ['goal', isMet ? 'met' : 'MISSED'],
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

async function lookAt({ replicas, memoryFiles, pool }) {
  const { rows } = await pool.query(
    "SELECT count(*)::int AS sessions FROM pg_stat_activity WHERE application_name LIKE 'parley%' AND datname = current_database()",
  );
  const pids = replicas.map(({ pid }) => pid);
  const memory = await Promise.all(pids.map((pid, index) => memoryOf(pid, memoryFiles[index])));
  const all = (what) => sum(memory.map((usage) => usage[what]));
  return {
    sessions: rows[0].sessions,
    ...{ rss: all('rss'), heapUsed: all('heapUsed'), external: all('external') },
    sockets: sum(pids.map(socketsOf)) - rows[0].sessions,
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
