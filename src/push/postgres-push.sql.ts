const OWNED = 't.id = $1 AND t.organisation = $2 AND t.owner = $3 AND t.agent = $4 AND NOT t.direct';
const HELD = 'claimed_until > clock_timestamp()';
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

/** Rows are locked in one order everywhere, so that statements over many of them cannot deadlock. */
export const WAKE = `
WITH ${UNSYNCED}, w AS (
  SELECT p.task_id, p.id FROM push_configs p JOIN tasks t ON t.id = p.task_id
  WHERE p.task_id = ANY($1::uuid[]) AND p.state = 'open' AND p.due_at = 'infinity' AND ${LAGS}
  ORDER BY p.task_id, p.id FOR UPDATE OF p
)
UPDATE push_configs p SET due_at = now() FROM w, unsynced WHERE p.task_id = w.task_id AND p.id = w.id`;

export const SWEEP = `
WITH w AS (
  SELECT p.task_id, p.id FROM push_configs p JOIN tasks t ON t.id = p.task_id
  WHERE p.state = 'open' AND p.due_at = 'infinity' AND ${LAGS}
  FOR UPDATE OF p SKIP LOCKED
), d AS (
  DELETE FROM push_configs p WHERE p.state = 'deleted' AND (p.claim IS NULL OR NOT ${HELD})
)
UPDATE push_configs p SET due_at = now() FROM w WHERE p.task_id = w.task_id AND p.id = w.id`;

/**
 * $1 claim, $2 its length in ms, $3 limit, $4 hosts with the room they have left, $5 room of other hosts,
 * $6 events of one claim, which begin within its first $7 bytes. The inner limit bounds the sorting under a long backlog; hosts without room are out
 * before it, so that they do not crowd out the others.
 */
export const CLAIM = `
WITH ${UNSYNCED}, h AS (
  SELECT * FROM json_to_recordset($4::json) AS h(host text, room int)
), due AS (
  SELECT p.task_id, p.id, p.host, p.due_at FROM push_configs p JOIN tasks t ON t.id = p.task_id
  WHERE p.state = 'open' AND p.due_at <= now() AND (p.claimed_until IS NULL OR NOT p.${HELD})
    AND p.host NOT IN (SELECT host FROM h WHERE room <= 0) AND p.host NOT IN (SELECT host FROM push_pauses)
    AND ${LAGS}
  ORDER BY p.due_at LIMIT 2000
), ranked AS (
  SELECT *, row_number() OVER (PARTITION BY host ORDER BY due_at) AS rank FROM due
), fair AS (
  SELECT r.task_id, r.id FROM ranked r LEFT JOIN h ON h.host = r.host
  WHERE r.rank <= coalesce(h.room, $5) ORDER BY r.rank, r.due_at LIMIT $3
), mine AS (
  SELECT p.task_id, p.id FROM push_configs p JOIN fair f ON f.task_id = p.task_id AND f.id = p.id
  WHERE p.state = 'open' AND (p.claimed_until IS NULL OR NOT p.${HELD}) AND p.due_at <= now()
  FOR UPDATE OF p SKIP LOCKED
), u AS (
  UPDATE push_configs p SET claim = $1, claimed_until = clock_timestamp() + $2 * interval '1 millisecond'
  FROM mine, unsynced WHERE p.task_id = mine.task_id AND p.id = mine.id
  RETURNING p.task_id, p.id, p.url, p.host, p.secret, p.version, p.extensions, p.cursor, p.tries
)
SELECT u.*, t.agent, e.seqs, e.payloads, (
  SELECT request->>'traceparent' FROM task_events m WHERE m.task_id = u.task_id AND m.seq = t.inbox_seq
) AS traceparent FROM u JOIN tasks t ON t.id = u.task_id CROSS JOIN LATERAL (
  SELECT array_agg(x.seq ORDER BY x.seq) AS seqs, array_agg(x.payload ORDER BY x.seq) AS payloads FROM (
    SELECT seq, payload, sum(size) OVER (ORDER BY seq) - size AS before FROM (
      SELECT seq, payload, octet_length(payload::text) AS size FROM task_events e
      WHERE e.task_id = u.task_id AND e.seq > u.cursor ORDER BY seq LIMIT $6
    ) AS next
  ) AS x WHERE x.before < $7
) AS e`;

/**
 * $1 reports, $2 the task states that are terminal. What became of a try says nothing of the address or credentials that
 * have replaced those it was made with.
 */
export const REPORT = `
WITH ${UNSYNCED}, r AS (
  SELECT * FROM json_to_recordset($1::json) AS r(task_id uuid, id text, claim uuid, cursor bigint, sent int,
    tries int, delay_ms bigint, dead boolean, status int, error text, ms int, url text, secret text)
), l AS (
  SELECT r.task_id, r.id, r.claim, r.cursor, r.sent, r.status, r.error, r.ms, t.version,
    t.state = ANY($2::int[]) AS ended, n.dead, n.tries, n.delay_ms
  FROM push_configs p JOIN r ON r.task_id = p.task_id AND r.id = p.id AND r.claim = p.claim
  JOIN tasks t ON t.id = p.task_id CROSS JOIN LATERAL (
    SELECT same AND r.dead AS dead, CASE WHEN same THEN r.tries ELSE 0 END AS tries,
      CASE WHEN same THEN r.delay_ms ELSE 0 END AS delay_ms
    FROM (SELECT p.url = r.url AND p.secret IS NOT DISTINCT FROM r.secret AS same) AS try
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
RETURNING p.task_id, p.id, l.cursor < l.version AND l.delay_ms = 0 AND p.state = 'open' AS more`;

/** $1 agent, $2 state, $3 task, $4 host, $5..$7 the last row before, $8 limit; all but the limit may be null. */
export const DELIVERIES = `
SELECT p.task_id AS "taskId", p.id AS "configId", t.agent, p.url, p.host, p.state, p.cursor, t.version, p.sent,
  p.tries, CASE WHEN p.state = 'open' AND p.due_at < 'infinity' THEN p.due_at END AS "dueAt",
  p.last_status AS "lastStatus", p.last_error AS "lastError", p.last_ms AS "lastMs", p.tried_at AS "triedAt",
  to_char(p.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "createdAt"
FROM push_configs p JOIN tasks t ON t.id = p.task_id
WHERE p.state <> 'deleted' AND ($1::text IS NULL OR t.agent = $1) AND ($2::text IS NULL OR p.state = $2)
  AND ($3::uuid IS NULL OR p.task_id = $3) AND ($4::text IS NULL OR p.host = $4)
  AND ($5::timestamptz IS NULL OR (p.created_at, p.task_id, p.id) < ($5, $6::uuid, $7::text))
ORDER BY p.created_at DESC, p.task_id DESC, p.id DESC LIMIT $8`;

/** $1 task, $2 config, $3 host, $4 the event to begin after. Of a host only what is dead. */
export const REDELIVER = `
WITH w AS (
  SELECT p.task_id, p.id, t.version FROM push_configs p JOIN tasks t ON t.id = p.task_id
  WHERE p.state <> 'deleted' AND ($1::uuid IS NULL OR p.task_id = $1) AND ($2::text IS NULL OR p.id = $2)
    AND ($3::text IS NULL OR (p.host = $3 AND p.state = 'dead'))
    AND least(p.cursor, $4::bigint) < t.version
  ORDER BY p.task_id, p.id FOR UPDATE OF p
)
UPDATE push_configs p SET
  state = 'open', tries = 0, due_at = now(), cursor = least(p.cursor, $4::bigint)
FROM w WHERE p.task_id = w.task_id AND p.id = w.id`;

export const PAUSE = 'INSERT INTO push_pauses (host) VALUES ($1) ON CONFLICT DO NOTHING';
export const RESUME = 'DELETE FROM push_pauses WHERE host = $1';
export const PAUSED = 'SELECT host FROM push_pauses ORDER BY host';

export const BACKLOG = `
SELECT (SELECT count(*) FROM push_configs WHERE state = 'dead') AS dead, count(*) AS due,
  coalesce(extract(epoch FROM now() - min(due_at)), 0)::float8 AS "lagSeconds"
FROM push_configs WHERE state = 'open' AND due_at <= now()`;
