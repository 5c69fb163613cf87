import type { Postgres } from '../database/index.js';
import type { TaskState } from '../protocol/index.js';
import { available } from './database.outage.js';
import { WAITING } from './postgres-task.sql.js';
import { type WaitChange, WaitLog, type WaitNotice, type WaitQuery } from './wait.log.js';

/** An arbitrary number that all replicas agree on. */
const LOCK = 7_292_541;

/** How long an ended wait is kept for readers who come back. Clearing away costs an index scan of what is left. */
const KEPT = `interval '7 days'`;

/** $1 whether it is to be told. What the webhook was never told of need not be told to have ended. */
const END = `
UPDATE waits w SET ended = nextval('wait_numbers'), ended_at = now(),
  due_at = CASE WHEN $1 AND told = 1 THEN now() ELSE due_at END
WHERE ended IS NULL AND NOT EXISTS (
  SELECT FROM tasks t WHERE t.id = w.task_id AND t.status_at = w.since AND ${WAITING}
)`;

const BEGIN = `
INSERT INTO waits (task_id, since, agent, organisation, state, began, due_at)
SELECT t.id, t.status_at, t.agent, t.organisation, t.state, nextval('wait_numbers'), CASE WHEN $1 THEN now() END
FROM (
  SELECT * FROM tasks t WHERE ${WAITING} AND NOT direct
    AND NOT EXISTS (SELECT FROM waits w WHERE w.task_id = t.id AND w.since = t.status_at)
  ORDER BY status_at, id
) t`;

const CLEAR = `DELETE FROM waits WHERE ended IS NOT NULL AND ended_at < now() - ${KEPT}`;

const COLUMNS = 'task_id, since, agent, organisation, state';
const WANTED = `($1::text IS NULL OR agent = $1) AND ($2::text IS NULL OR organisation = $2)
  AND ($3::smallint IS NULL OR state = $3)`;

/** $1 agent, $2 organisation, $3 state, $4 the last number that is known, $5 limit. */
const CHANGES = `
SELECT ${COLUMNS}, began AS number, 'waiting' AS kind FROM waits
WHERE began > $4 AND ended IS NULL AND ${WANTED}
UNION ALL
SELECT ${COLUMNS}, ended, 'resolved' FROM waits WHERE ended > $4 AND began <= $4 AND ${WANTED}
ORDER BY number LIMIT $5`;

/** $1 how many, $2 for how long, milliseconds. */
const CLAIM = `
UPDATE waits w SET due_at = now() + $2 * interval '1 millisecond'
FROM (
  SELECT task_id, since FROM waits WHERE due_at <= now() ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED
) d
WHERE w.task_id = d.task_id AND w.since = d.since
RETURNING w.task_id, w.since, w.agent, w.organisation, w.state, w.tries, w.told,
  coalesce(w.ended, w.began) AS number, CASE WHEN w.ended IS NULL THEN 'waiting' ELSE 'resolved' END AS kind`;

/** $1 task, $2 since, $3 what is told now. A wait that ended meanwhile has more to tell. */
const TOLD = `
UPDATE waits SET told = $3::smallint, tries = 0, due_at = CASE WHEN $3::smallint = 1 AND ended IS NOT NULL THEN now() END
WHERE task_id = $1 AND since = $2`;

/** $1 task, $2 since, $3 pause in milliseconds, null to give up. */
const AGAIN = `
UPDATE waits SET tries = tries + 1, due_at = now() + $3::float8 * interval '1 millisecond'
WHERE task_id = $1 AND since = $2`;

interface Row {
  readonly task_id: string;
  readonly since: Date;
  readonly agent: string;
  readonly organisation: string;
  readonly state: TaskState;
  readonly number: number;
  readonly kind: WaitChange['kind'];
}

const TELLS: Readonly<Record<WaitChange['kind'], number>> = { waiting: 1, resolved: 2 };

export class PostgresWaitLog extends WaitLog {
  constructor(private readonly postgres: Postgres) {
    super();
  }

  look(notify: boolean): Promise<void> {
    const work = this.postgres.transaction(async (client) => {
      const lock = await client.query('SELECT pg_try_advisory_xact_lock($1) AS mine', [LOCK]);
      if (!lock.rows[0]?.mine) return;
      await client.query(END, [notify]);
      await client.query(BEGIN, [notify]);
      await client.query(CLEAR);
    });
    return available(work);
  }

  async changes({ agent, organisation, state, after, limit }: WaitQuery): Promise<readonly WaitChange[]> {
    const values = [agent ?? null, organisation ?? null, state ?? null, after, limit];
    const query = this.postgres.query<Row>({ name: 'wait-changes', text: CHANGES, values });
    return (await available(query)).rows.map(changeOf);
  }

  async notices(limit: number, claimMs: number): Promise<readonly WaitNotice[]> {
    type NoticeRow = Row & { readonly tries: number; readonly told: number };
    const query = { name: 'wait-notices', text: CLAIM, values: [limit, claimMs] };
    const { rows } = await available(this.postgres.query<NoticeRow>(query));
    const notices = rows.map((row) => ({ ...changeOf(row), tries: row.tries, told: row.told }));
    const late = notices.filter(({ kind, told }) => kind === 'resolved' && told === 0);
    await Promise.all(late.map((notice) => this.report(notice, 'told')));
    return notices.filter((notice) => !late.includes(notice));
  }

  async report(notice: WaitNotice, outcome: 'told' | number | undefined): Promise<void> {
    const { taskId, since, kind } = notice;
    const text = outcome === 'told' ? TOLD : AGAIN;
    const last = outcome === 'told' ? TELLS[kind] : (outcome ?? null);
    await available(this.postgres.query({ text, values: [taskId, new Date(since), last] }));
  }
}

function changeOf({ task_id, since, agent, organisation, state, number, kind }: Row): WaitChange {
  return { taskId: task_id, since: since.getTime(), agent, organisation, state, number, kind };
}
