import type { AgeRule } from '../config/index.js';
import type { Postgres } from '../database/index.js';
import type { TaskState } from '../protocol/index.js';
import { WAITING } from './postgres-task.sql.js';
import { type Overdue, type Removable, RetentionStore } from './retention.store.js';

/** An arbitrary number that all replicas agree on. */
const LOCK = 7_292_540;
const BATCH = 500;
/** Events of one batch, so that tasks with very many of them do not make it a long one. */
const MOST_EVENTS = 20_000;

const ENDED = 'state IN (3, 4, 5, 7)';
const CHUNKY = `${ENDED} AND NOT compacted AND NOT direct AND version > 32`;

/**
 * `picked`: the oldest tasks of a partial index that are older than their rule says, $1 the rules, $2 how many.
 * The index begins with agent and organisation: their pairs are found by hopping from one to the next, and of
 * each pair the first tasks are read, so that what has to stay costs nothing.
 */
const picked = (condition: string) => `
WITH RECURSIVE pairs AS (
  (SELECT agent, organisation FROM tasks WHERE ${condition} ORDER BY agent, organisation LIMIT 1)
  UNION ALL
  SELECT n.agent, n.organisation FROM pairs p CROSS JOIN LATERAL (
    SELECT agent, organisation FROM tasks
    WHERE ${condition} AND (agent, organisation) > (p.agent, p.organisation)
    ORDER BY agent, organisation LIMIT 1
  ) n
), aged AS (
  SELECT p.agent, p.organisation, r.seconds FROM pairs p CROSS JOIN LATERAL (
    SELECT seconds FROM json_to_recordset($1::json) AS r(agent text, organisation text, seconds float8)
    WHERE coalesce(r.agent, p.agent) = p.agent AND coalesce(r.organisation, p.organisation) = p.organisation
    ORDER BY r.organisation IS NULL, r.agent IS NULL LIMIT 1
  ) r
), found AS (
  SELECT t.* FROM aged a CROSS JOIN LATERAL (
    SELECT id, version, status_at FROM tasks t
    WHERE ${condition} AND t.agent = a.agent AND t.organisation = a.organisation
      AND t.status_at < now() - a.seconds * interval '1 second'
    ORDER BY t.status_at LIMIT $2
  ) t LIMIT $2
), picked AS (
  SELECT id, status_at FROM (SELECT *, sum(version) OVER (ORDER BY id) - version AS before FROM found) f
  WHERE before < ${MOST_EVENTS}
)`;

/** Push configs go with their task, by the foreign key. An ended task has no writer that could add an event. */
const REMOVE_TASKS = `${picked(ENDED)}, e AS (
  DELETE FROM task_events e USING picked p WHERE e.task_id = p.id
), t AS (
  DELETE FROM tasks t USING picked p WHERE t.id = p.id RETURNING 1
)
SELECT count(*)::int AS removed FROM t`;

/** Status changes and messages stay: they tell the task's story, and hold the ids of messages. */
const REMOVE_CHUNKS = `${picked(CHUNKY)}, t AS (
  UPDATE tasks t SET compacted = true FROM picked p WHERE t.id = p.id
  RETURNING t.id, t.snapshot_seq = t.version AS whole
), e AS (
  DELETE FROM task_events e USING t
  WHERE e.task_id = t.id AND t.whole AND e.request IS NULL AND e.payload->'artifactUpdate' IS NOT NULL
)
SELECT count(*)::int AS removed FROM t`;

/** A state of the two is found by their index. */
const overdueIn = (state?: TaskState) =>
  `${picked(state === undefined ? WAITING : `${WAITING} AND state = ${state}`)} SELECT id, status_at FROM picked`;

/** Of tables that know no agent, only the rule for all holds. */
const oldest = (table: string, time: string, condition: string) => `
WITH gone AS (
  DELETE FROM ${table} WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM ${table} WHERE ${condition}
      AND ${time} < now() - ($1::json->0->>'seconds')::float8 * interval '1 second'
    ORDER BY ${time} LIMIT $2
  )) RETURNING 1
)
SELECT count(*)::int AS removed FROM gone`;

const REMOVE: Readonly<Record<Removable, string>> = {
  tasks: REMOVE_TASKS,
  events: REMOVE_CHUNKS,
  push: oldest('push_configs', 'coalesce(tried_at, created_at)', `state IN ('done', 'dead')`),
  audit: oldest('audit_log', 'at', 'true'),
};

/** The one place that knows of every table with something in it that ages. */
export class PostgresRetentionStore extends RetentionStore {
  constructor(private readonly postgres: Postgres) {
    super();
  }

  remove(what: Removable, rules: readonly AgeRule[]): Promise<number> {
    return this.postgres.transaction(async (client) => {
      const lock = await client.query('SELECT pg_try_advisory_xact_lock($1) AS mine', [LOCK]);
      if (!lock.rows[0]?.mine) return 0;
      return (await client.query(REMOVE[what], [rowsOf(rules), BATCH])).rows[0].removed;
    });
  }

  async overdue(rules: readonly AgeRule[], state?: TaskState): Promise<readonly Overdue[]> {
    type Row = { id: string; status_at: Date };
    const name = `overdue-${state ?? 'any'}`;
    const query = { name, text: overdueIn(state), values: [rowsOf(rules), BATCH] };
    const { rows } = await this.postgres.query<Row>(query);
    return rows.map((row) => ({ taskId: row.id, statusAt: row.status_at.getTime() }));
  }
}

/** For ever is null, which no age is older than. */
function rowsOf(rules: readonly AgeRule[]): string {
  return JSON.stringify(rules.map(({ ms, ...scope }) => ({ ...scope, seconds: ms / 1000 })));
}
