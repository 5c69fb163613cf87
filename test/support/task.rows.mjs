/**
 * Fills a database with tasks as the service leaves them, a million a minute. One statement makes `count` tasks:
 * of `owners` callers, each with `chunks` chunks of one artifact, their status `days` days old at most.
 *
 * @param {import('pg').Client} client
 * @param {{ count: number, owners?: number, agent?: string, organisation?: string, state?: number, days?: number, chunks?: number }} wanted
 */
export async function insertTasks(client, wanted) {
  const { count, owners = 1, agent = 'echo', organisation = '', state = 3, days = 1, chunks = 0 } = wanted;
  await client.query(INSERT, [count, owners, agent, organisation, state, days, chunks]);
}

const NAMES = ['', 'SUBMITTED', 'WORKING', 'COMPLETED', 'FAILED', 'CANCELED', 'INPUT_REQUIRED', 'REJECTED'];
const STATE = `'TASK_STATE_' || (ARRAY[${NAMES.slice(1).map((name) => `'${name}'`)}, 'AUTH_REQUIRED'])[$5::int]`;
const MESSAGE = `json_build_object('messageId', n.id, 'role', 'ROLE_USER', 'parts', '[{"text":"hello"}]'::json,
  'taskId', n.id, 'contextId', n.context)`;
const TASK = (status, artifacts) => `json_build_object('id', n.id, 'contextId', n.context,
  'status', json_build_object('state', ${status}, 'timestamp', to_char(n.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')),
  'artifacts', ${artifacts}, 'history', json_build_array(${MESSAGE}))`;
const CHUNK = `json_build_object('taskId', n.id, 'contextId', n.context, 'append', c > 1,
  'artifact', json_build_object('artifactId', 'a', 'parts', json_build_array(json_build_object('text', 'chunk ' || c))))`;

/** Ids are ordered by time, as the service's are. */
const INSERT = `
WITH n AS MATERIALIZED (
  SELECT i, at, (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '7' || substr(r, 14))::uuid AS id,
    'context-' || i AS context, 'owner-' || (i % $2::int) AS owner
  FROM (
    SELECT i, md5(i::text || random()) AS r, now() - $6::float8 * interval '1 day' * (1 - i / ($1::float8 + 1)) AS at
    FROM generate_series(1, $1::int) AS i
  ) s
), t AS (
  INSERT INTO tasks (id, organisation, owner, agent, context_id, state, status_at, version, snapshot,
    snapshot_seq, inbox_seq, lease_token, created_at)
  SELECT id, $4::text, owner, $3::text, context, $5::int, at, 2 + $7::int, ${TASK(
    STATE,
    `(SELECT json_agg(json_build_object('artifactId', 'a', 'parts', json_build_array(json_build_object('text', 'all')))) WHERE $7::int > 0)`,
  )}, 2 + $7::int, 1, 1, at FROM n
)
INSERT INTO task_events (task_id, seq, payload, request, message_key, recorded_at)
SELECT id, 1, json_build_object('task', ${TASK(`'TASK_STATE_SUBMITTED'`, `'[]'::json`)}), '{}'::json, gen_random_uuid(), at FROM n
UNION ALL
SELECT id, 1 + c, json_build_object('artifactUpdate', ${CHUNK}), NULL, NULL, at FROM n, generate_series(1, $7::int) AS c
UNION ALL
SELECT id, 2 + $7::int, json_build_object('statusUpdate', json_build_object('taskId', id, 'contextId', context,
  'status', json_build_object('state', ${STATE}))), NULL, NULL, at FROM n`;
