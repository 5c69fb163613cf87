import { get } from 'node:http';
import pg from 'pg';
import { quantiles } from '../load/window.mjs';
import { beginTasks } from './begin.tasks.mjs';

/** Events per second, and the tasks that make them at a pace of so many milliseconds. */
const RATES = [
  { rate: 100, tasks: 5, paceMs: 50 },
  { rate: 1_000, tasks: 20, paceMs: 20 },
  { rate: 5_000, tasks: 50, paceMs: 10 },
];

/** Turns run on A; each has a reader on A and one on B. */
export async function latency({ replicas: [a, b], databaseUrl, quick }) {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 });
  const rows = [];
  for (const { rate, tasks, paceMs } of RATES) {
    const count = Math.round(((quick ? 3 : 10) * 1_000) / paceMs);
    const start = performance.now();
    const ids = await beginTasks(a, `chunks ${count} ${paceMs}`, tasks);
    const readers = ids.flatMap((id) => [a, b].map((replica) => read(replica, id)));
    const seen = await Promise.all(readers);
    const seconds = (performance.now() - start) / 1_000;
    const recorded = await recordedAt(pool, ids);
    const real = Math.round((tasks * count) / seconds);
    rows.push([`${rate} events/s wanted`, `${real} events/s came`]);
    for (const replica of [a, b]) {
      const times = seen.filter((reader) => reader.replica === replica).flatMap(delays(recorded));
      const { p50, p99 } = quantiles(times);
      const place = replica === a ? 'reader on the same replica' : 'reader on the other replica';
      rows.push([`  ${place}`, `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms of ${times.length}`]);
    }
  }
  await pool.end();
  return rows;
}

/** Reads a subscription to its end and notes when each numbered event came; the snapshot does not count. */
function read(replica, id) {
  const arrivals = [];
  return new Promise((resolve, reject) => {
    const headers = { 'a2a-version': '1.0' };
    const request = get(`${replica.url}/rest/tasks/${id}:subscribe`, { headers }, (response) => {
      let rest = '';
      let first = true;
      response.setEncoding('latin1').on('data', (text) => {
        const now = performance.timeOrigin + performance.now();
        const frames = (rest + text).split('\n\n');
        rest = frames.pop();
        for (const frame of frames) {
          const [, seq] = /^id: (\d+)/.exec(frame) ?? [];
          if (seq !== undefined && !first) arrivals.push({ seq: Number(seq), now });
          first &&= seq === undefined;
        }
      });
      response.on('end', () => resolve({ replica, id, arrivals })).on('error', reject);
    });
    request.on('error', reject);
  });
}

async function recordedAt(pool, ids) {
  const text = `SELECT task_id, json_agg(extract(epoch FROM recorded_at) * 1000 ORDER BY seq) AS at
    FROM task_events WHERE task_id = ANY($1) GROUP BY task_id`;
  const { rows } = await pool.query(text, [ids]);
  return new Map(rows.map(({ task_id, at }) => [task_id, at]));
}

const delays =
  (recorded) =>
  ({ id, arrivals }) =>
    arrivals.map(({ seq, now }) => now - recorded.get(id)[seq - 1]);
