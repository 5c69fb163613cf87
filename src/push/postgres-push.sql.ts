import type { DeliveryFilter, Redelivery } from './push.store.js';

const OWNED = 't.id = $1 AND t.organisation = $2 AND t.owner = $3 AND t.agent = $4 AND NOT t.direct';
const HELD = 'claimed_until > clock_timestamp()';
const FREE = `(p.claimed_until IS NULL OR NOT p.${HELD})`;
/**
 * Something waits. Not before the second event: until then the agent may answer with a Message alone, and of
 * that nothing is pushed.
 */
const LAGS = 'p.cursor < t.version AND t.version > 1 AND NOT t.direct';

/**
 * Commits without waiting for the disk: what these statements write is found again by looking. A database that crashes
 * at that moment costs a push that is sent twice, under the same id.
 */
const UNSYNCED = `unsynced AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))`;

export const LOCK_OWNED = `SELECT FROM tasks t WHERE ${OWNED} FOR UPDATE`;

export const LIST = `
SELECT p.id, p.url, p.host, p.secret, p.version, p.extensions FROM tasks t
LEFT JOIN push_configs p ON p.task_id = t.id AND p.state <> 'deleted' WHERE ${OWNED} ORDER BY p.id`;

export const REMOVE = `
WITH t AS (SELECT id FROM tasks t WHERE ${OWNED}), p AS (
  UPDATE push_configs p SET state = 'deleted' FROM t WHERE p.task_id = t.id AND p.id = $5
  RETURNING CASE WHEN ${HELD} THEN claim END AS claim
)
SELECT (SELECT claim FROM p) AS claim FROM t`;

export const IS_HELD = `
SELECT FROM push_configs WHERE task_id = $1 AND id = $2 AND claim = $3 AND ${HELD}`;

export const SWEEP = `
WITH w AS (
  SELECT p.task_id, p.id FROM push_configs p JOIN tasks t ON t.id = p.task_id
  WHERE p.state = 'open' AND p.due_at = 'infinity' AND ${FREE} AND ${LAGS}
  FOR UPDATE OF p SKIP LOCKED
), d AS (
  DELETE FROM push_configs p WHERE p.state = 'deleted' AND ${FREE}
), q AS (
  DELETE FROM push_pauses WHERE until < now() - interval '1 day'
)
UPDATE push_configs p SET due_at = now() FROM w WHERE p.task_id = w.task_id AND p.id = w.id`;

/**
 * $1 claim, $2 its length in ms, $3 limit, $4 hosts with the room they have left, $5 room of other hosts,
 * $6 events of one claim, which begin within its first $7 bytes, $8 tasks with new events.
 *
 * Of `fresh` configs, which waited for events, those that there is no room for become due. They are found by their tasks
 * alone (`isfinite` has no index): the index of what is due holds all that wait, too. The inner limit of `due` bounds the
 * sorting under a long backlog; hosts without room are out before it, so that they do not crowd out the others. A host
 * whose pause is over is probed: by one config that is due, of the replica that prolongs the pause. No lock is waited
 * for, so that statements cannot deadlock: what somebody else holds right now is looked at after his report.
 */
export const CLAIM = `
WITH ${UNSYNCED}, h AS (
  SELECT * FROM json_to_recordset($4::json) AS h(host text, room int)
), pauses AS MATERIALIZED (
  SELECT host, until IS NULL OR until > now() AS closed FROM push_pauses
), due AS (
  SELECT p.task_id, p.id, p.host, p.due_at, false AS fresh FROM push_configs p JOIN tasks t ON t.id = p.task_id
  WHERE p.state = 'open' AND p.due_at <= now() AND ${FREE} AND ${LAGS} AND p.host NOT IN (
    SELECT host FROM h WHERE room <= 0 UNION ALL SELECT host FROM pauses WHERE closed
  )
  ORDER BY p.due_at LIMIT 2000
), fresh AS (
  SELECT p.task_id, p.id, p.host, now() AS due_at, true AS fresh FROM push_configs p JOIN tasks t ON t.id = p.task_id
  WHERE p.task_id = ANY($8::uuid[]) AND p.state = 'open' AND NOT isfinite(p.due_at) AND ${FREE} AND ${LAGS}
), ranked AS (
  SELECT *, row_number() OVER (PARTITION BY host ORDER BY due_at) AS rank
  FROM (SELECT * FROM due UNION ALL SELECT * FROM fresh) AS waiting
), roomy AS (
  SELECT r.*, r.rank - coalesce(h.room, $5) AS load, r.rank <= CASE WHEN q.host IS NULL THEN coalesce(h.room, $5)
    WHEN q.closed OR r.fresh THEN 0 ELSE least(h.room, 1) END AS fits
  FROM ranked r LEFT JOIN h ON h.host = r.host LEFT JOIN pauses q ON q.host = r.host
), placed AS (
  SELECT task_id, id, fresh, fits AND row_number() OVER (ORDER BY fits DESC, load, due_at) <= $3 AS fits FROM roomy
), mine AS (
  SELECT p.task_id, p.id, p.host FROM placed f JOIN push_configs p ON p.task_id = f.task_id AND p.id = f.id
  WHERE f.fits AND p.state = 'open' AND ${FREE} AND (p.due_at <= now() OR f.fresh AND NOT isfinite(p.due_at))
  FOR UPDATE OF p SKIP LOCKED
), probed AS (
  SELECT host FROM push_pauses WHERE until <= now() AND host IN (SELECT host FROM mine) FOR UPDATE SKIP LOCKED
), probing AS (
  UPDATE push_pauses q SET until = clock_timestamp() + $2 * interval '1 millisecond'
  FROM probed WHERE q.host = probed.host
), u AS (
  UPDATE push_configs p SET claim = $1, claimed_until = clock_timestamp() + $2 * interval '1 millisecond'
  FROM unsynced, mine LEFT JOIN pauses q ON q.host = mine.host LEFT JOIN probed ON probed.host = mine.host
  WHERE p.task_id = mine.task_id AND p.id = mine.id AND (q.host IS NULL OR probed.host IS NOT NULL)
  RETURNING p.task_id, p.id, p.url, p.host, p.secret, p.version, p.extensions, p.cursor, p.tries, p.moves,
    probed.host IS NOT NULL AS probe
), rest AS (
  SELECT p.task_id, p.id FROM placed f JOIN push_configs p ON p.task_id = f.task_id AND p.id = f.id
  WHERE f.fresh AND NOT f.fits AND p.state = 'open' AND NOT isfinite(p.due_at) FOR UPDATE OF p SKIP LOCKED
), waits AS (
  UPDATE push_configs p SET due_at = now() FROM rest, unsynced WHERE p.task_id = rest.task_id AND p.id = rest.id
)
SELECT u.*, t.agent, e.seqs, e.payloads, (
  SELECT request->>'traceparent' FROM task_events m WHERE m.task_id = u.task_id AND m.seq = t.inbox_seq
) AS traceparent FROM u JOIN tasks t ON t.id = u.task_id CROSS JOIN LATERAL (
  SELECT array_agg(x.seq ORDER BY x.seq) AS seqs, string_agg(x.payload::text, E'\\x1e' ORDER BY x.seq) AS payloads FROM (
    SELECT seq, payload, sum(size) OVER (ORDER BY seq) - size AS before FROM (
      SELECT seq, payload, octet_length(payload::text) AS size FROM task_events e
      WHERE e.task_id = u.task_id AND e.seq > u.cursor ORDER BY seq LIMIT $6
    ) AS next
  ) AS x WHERE x.before < $7
) AS e`;

/**
 * $1 reports, $2 the task states that are terminal. What became of a try says nothing of the address or credentials that
 * have replaced those it was made with, and nothing at all of a config that has been given another place since. Rows are
 * locked in one order, so that reports cannot deadlock.
 */
export const REPORT = `
WITH ${UNSYNCED}, r AS (
  SELECT * FROM json_to_recordset($1::json) AS r(task_id uuid, id text, claim uuid, moves int, cursor bigint,
    sent int, tries int, delay_ms bigint, dead boolean, status int, error text, ms int, url text, secret text)
), l AS (
  SELECT r.task_id, r.id, r.claim, n.cursor, r.sent, r.status, r.error, r.ms, t.version,
    t.state = ANY($2::int[]) AS ended, n.dead, n.tries, n.delay_ms
  FROM push_configs p JOIN r ON r.task_id = p.task_id AND r.id = p.id AND r.claim = p.claim
  JOIN tasks t ON t.id = p.task_id CROSS JOIN LATERAL (
    SELECT same AND r.dead AS dead, CASE WHEN same THEN r.tries ELSE 0 END AS tries,
      CASE WHEN same THEN r.delay_ms ELSE 0 END AS delay_ms,
      CASE WHEN p.moves = r.moves THEN r.cursor ELSE p.cursor END AS cursor
    FROM (SELECT (p.moves, p.url) = (r.moves, r.url) AND p.secret IS NOT DISTINCT FROM r.secret AS same) AS try
  ) AS n ORDER BY p.task_id, p.id FOR UPDATE OF p
)
UPDATE push_configs p SET
  cursor = l.cursor, sent = p.sent + l.sent, tries = l.tries, claim = NULL, claimed_until = NULL,
  state = CASE WHEN p.state <> 'open' THEN p.state WHEN l.dead THEN 'dead'
    WHEN l.ended AND l.cursor >= l.version THEN 'done' ELSE 'open' END,
  due_at = CASE WHEN l.cursor >= l.version THEN 'infinity'
    ELSE clock_timestamp() + l.delay_ms * interval '1 millisecond' END,
  last_status = CASE WHEN l.ms IS NULL THEN p.last_status ELSE l.status END,
  last_error = CASE WHEN l.ms IS NULL THEN p.last_error ELSE l.error END,
  last_ms = coalesce(l.ms, p.last_ms),
  tried_at = CASE WHEN l.ms IS NULL THEN p.tried_at ELSE clock_timestamp() END
FROM l, unsynced WHERE p.task_id = l.task_id AND p.id = l.id AND p.claim = l.claim
RETURNING p.task_id, p.id, CASE WHEN p.state <> 'open' OR l.delay_ms > 0 THEN 'later'
  WHEN l.cursor < l.version THEN 'more' ELSE 'idle' END AS next`;

const DELIVERY = `
SELECT p.task_id AS "taskId", p.id AS "configId", t.agent, p.url, p.host, p.state, p.cursor, t.version, p.sent,
  p.tries, CASE WHEN p.state = 'open' AND p.due_at < 'infinity' THEN p.due_at END AS "dueAt",
  p.last_status AS "lastStatus", p.last_error AS "lastError", p.last_ms AS "lastMs", p.tried_at AS "triedAt",
  p.created_at AS "createdAt"
FROM push_configs p JOIN tasks t ON t.id = p.task_id`;

type Wanted = Pick<DeliveryFilter, 'agent' | 'state' | 'taskId' | 'host'> & Pick<Redelivery, 'configId'>;

/**
 * Only the filters that are given stand in a statement, so that it has the plan of their index; and the state as it is, as
 * the indexes of what is dead are partial. `put` takes a value in and answers its place.
 */
function wanted({ agent, state, taskId, configId, host }: Wanted, put: (value: unknown) => string): string {
  return [
    state ? `p.state = '${state}'` : `p.state <> 'deleted'`,
    ...(taskId ? [`p.task_id = ${put(taskId)}`] : []),
    ...(configId ? [`p.id = ${put(configId)}`] : []),
    ...(host ? [`p.host = ${put(host)}`] : []),
    ...(agent ? [`t.agent = ${put(agent)}`] : []),
  ].join(' AND ');
}

export function deliveries({ after, limit, ...filter }: DeliveryFilter) {
  const values: unknown[] = [];
  const put = (value: unknown) => `$${values.push(value)}`;
  const rest = after ? `AND (p.task_id, p.id) < (${put(after.taskId)}, ${put(after.id)})` : '';
  const text = `${DELIVERY} WHERE ${wanted(filter, put)} ${rest}
    ORDER BY p.task_id DESC, p.id DESC LIMIT ${put(limit)}`;
  return { text, values };
}

/** Of a host only what is dead. */
export function redeliver({ after, ...what }: Redelivery) {
  const values: unknown[] = [after ?? null];
  const put = (value: unknown) => `$${values.push(value)}`;
  const state = what.host === undefined ? undefined : 'dead';
  const text = `
WITH w AS (
  SELECT p.task_id, p.id FROM push_configs p JOIN tasks t ON t.id = p.task_id
  WHERE ${wanted({ ...what, state }, put)} AND least(p.cursor, $1::bigint) < t.version
  ORDER BY p.task_id, p.id FOR UPDATE OF p
)
UPDATE push_configs p SET
  state = 'open', tries = 0, due_at = now(), cursor = least(p.cursor, $1::bigint), moves = p.moves + 1
FROM w WHERE p.task_id = w.task_id AND p.id = w.id`;
  return { text, values };
}

/** Of a host that an operator pauses the circuit is no longer asked. */
export const PAUSE = `
INSERT INTO push_pauses (host) VALUES ($1)
ON CONFLICT (host) DO UPDATE SET until = NULL, paused_at = now() WHERE push_pauses.until IS NOT NULL`;
export const RESUME = 'DELETE FROM push_pauses WHERE host = $1';
export const PAUSED = 'SELECT host FROM push_pauses WHERE until IS NULL ORDER BY host';

/** $1 host, $2 failures that pause one, $3 whether a probe failed. Pauses of 5 s, 10 s and then 20 s: whoever is back need not wait long. */
export const TRIP = `
INSERT INTO push_pauses AS p (host, failures, until) VALUES ($1, $2, now() + interval '5 seconds')
ON CONFLICT (host) DO UPDATE SET failures = p.failures + 1,
  until = now() + least(5 * 2 ^ least(p.failures + 1 - $2, 10), 20) * interval '1 second'
WHERE p.until IS NOT NULL AND $3::boolean`;
export const RECOVER = 'DELETE FROM push_pauses WHERE host = $1 AND until IS NOT NULL';
export const FAILING = `
SELECT host, failures, greatest(0, extract(epoch FROM until - now()) * 1000)::int AS "probeInMs"
FROM push_pauses WHERE until IS NOT NULL ORDER BY host`;

export const BACKLOG = `
SELECT (SELECT count(*) FROM push_configs WHERE state = 'dead') AS dead, count(*) AS due,
  coalesce(extract(epoch FROM now() - min(due_at)), 0)::float8 AS "lagSeconds"
FROM push_configs WHERE state = 'open' AND due_at <= now()`;
