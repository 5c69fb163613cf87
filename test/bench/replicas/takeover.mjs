import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { spread } from '../../chaos/chaos.report.mjs';
import { beginTasks, cancelTasks } from './begin.tasks.mjs';

const TASKS = 10;
/** Milliseconds that a dead replica may cost a turn. */
const GOAL_MS = 10_000;

/** The first event after the last one that the dead replica wrote, and when it was. */
const NEXT = `
SELECT min(extract(epoch FROM recorded_at) * 1000) AS at FROM task_events e
JOIN unnest($1::uuid[], $2::bigint[]) AS dead(id, version) ON dead.id = e.task_id AND e.seq > dead.version
GROUP BY e.task_id`;

/** From the kill of a replica to the next event of each of its turns, with the lease as it is by default. */
export async function takeover({ replicas: [a, b], databaseUrl, quick }) {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 });
  const times = [];
  for (let round = 0; round < (quick ? 2 : 8); round += 1) {
    const ids = await beginTasks(a, 'chunks 6000 50', TASKS);
    // Somewhere between two heartbeats.
    await delay(1_000 + round * 700);
    const killed = Date.now();
    await a.kill();
    times.push(...(await untilAllGoOn(pool, ids)).map((at) => at - killed));
    await cancelTasks(b, ids);
    await a.launch();
  }
  await pool.end();
  const { median, max } = spread(times);
  return [
    ['turns', String(times.length)],
    ['median', `${Math.round(median)} ms`],
    ['max', `${Math.round(max)} ms (goal <= ${GOAL_MS}: ${max <= GOAL_MS ? 'met' : 'MISSED'})`],
  ];
}

async function untilAllGoOn(pool, ids) {
  const { rows } = await pool.query('SELECT id, version FROM tasks WHERE id = ANY($1)', [ids]);
  const dead = [rows.map(({ id }) => id), rows.map(({ version }) => version)];
  for (;;) {
    const next = await pool.query(NEXT, dead);
    if (next.rows.length === ids.length) return next.rows.map(({ at }) => Number(at));
    await delay(50);
  }
}
