import { TaskState } from '../protocol/index.js';

/** Terminal states as SQL: the last guard of "a terminal task never changes". */
const ENDED = `(${[TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELED, TaskState.REJECTED].join(', ')})`;

const { INPUT_REQUIRED, AUTH_REQUIRED } = TaskState;

/**
 * A task that waits for its caller or an approval. One that was answered stays in INPUT_REQUIRED until its agent says
 * more, but waits no longer: a turn has its lease. The first half is the condition of indexes.
 */
export const WAITING = `state IN (${INPUT_REQUIRED}, ${AUTH_REQUIRED}) AND (state = ${AUTH_REQUIRED} OR lease_until IS NULL)`;

/** The running transaction, in numbers that grow. */
const TRANSACTION = 'pg_current_xact_id()::text::bigint';

/** A task's log after its snapshot, oldest first, as one JSON array; null when the snapshot is current. */
const TAIL = `CASE WHEN t.version > t.snapshot_seq THEN
  (SELECT json_agg(e.payload ORDER BY e.seq) FROM task_events e WHERE e.task_id = t.id AND e.seq > t.snapshot_seq)
  END AS tail`;

const SCOPE = 't.organisation = $2 AND t.owner = $3 AND t.agent = $4 AND NOT t.direct';

/** The same beside an id, in a form that no index serves: the planner must find the row by its key. */
const OWNED = `(t.organisation, t.owner, t.agent) IS NOT DISTINCT FROM ($2::text, $3::text, $4::text) AND NOT t.direct`;

/**
 * One group of writes: $1 turns' writes, $2 their events, $3 new tasks, $4 their push configs. Numbers are
 * given here, under the row's lock, so that a turn and a caller's message can write to one task at the same time. `lease_writes`
 * makes a write that is repeated after a broken connection find nothing to do.
 */
const commit = (more = '') => `
WITH w AS (
  SELECT * FROM json_to_recordset($1::json) AS w(id uuid, token bigint, written bigint, n int, state smallint,
    status_at timestamptz, snapshot json, snapshot_seq bigint, snapshot_base bigint, read bigint, direct boolean,
    forgets boolean)
), u AS (
  UPDATE tasks t SET
    version = t.version + w.n,
    state = coalesce(w.state, t.state),
    status_at = coalesce(w.status_at, t.status_at),
    direct = coalesce(w.direct, t.direct),
    changed = CASE WHEN w.state IS NULL AND t.version > 1 THEN t.changed ELSE ${TRANSACTION} END,
    snapshot = CASE WHEN w.snapshot_base = t.version THEN w.snapshot ELSE t.snapshot END,
    snapshot_seq = CASE WHEN w.snapshot_base = t.version THEN w.snapshot_seq ELSE t.snapshot_seq END,
    lease_writes = t.lease_writes + w.n,
    read_seq = greatest(t.read_seq, w.read),
    lease_until = CASE WHEN t.inbox_seq <= w.read OR w.state IN ${ENDED} THEN NULL ELSE t.lease_until END
  FROM w
  WHERE t.id = w.id AND t.lease_token = w.token AND t.lease_writes = w.written AND t.lease_until IS NOT NULL
    AND t.state NOT IN ${ENDED}
  RETURNING t.id, t.version, w.n, t.lease_until IS NULL AS ended, t.push
), e AS (
  INSERT INTO task_events (task_id, seq, payload)
  SELECT u.id, u.version - u.n + x.ord, x.payload
  FROM json_to_recordset($2::json) AS x(id uuid, ord int, payload json) JOIN u ON u.id = x.id
), c AS (
  SELECT * FROM json_to_recordset($3::json) AS c(id uuid, organisation text, owner text, agent text,
    agent_version text, context_id text, state smallint, status_at timestamptz, payload json, request json, message_key uuid,
    message_hash uuid, holder text, lease_ms int, push boolean)
), ce AS (
  INSERT INTO task_events (task_id, seq, payload, request, message_key, message_hash)
  SELECT id, 1, payload, request, message_key, message_hash FROM c
  ON CONFLICT DO NOTHING
  RETURNING task_id
), ct AS (
  INSERT INTO tasks (id, organisation, owner, agent, agent_version, context_id, state, status_at, version, inbox_seq,
    lease_holder, lease_token, lease_until, push)
  SELECT c.id, organisation, owner, agent, agent_version, context_id, state, status_at, 1, 1, holder, 1,
    clock_timestamp() + lease_ms * interval '1 millisecond', push
  FROM c JOIN ce ON ce.task_id = c.id
  RETURNING id
), p AS (
  INSERT INTO push_configs (task_id, id, url, host, secret, version, extensions, cursor)
  SELECT task_id, p.id, url, host, secret, version, extensions, 0
  FROM json_to_recordset($4::json)
    AS p(task_id uuid, id text, url text, host text, secret text, version text, extensions text[])
  JOIN ct ON ct.id = p.task_id
)${more}
SELECT id, version, ended, push FROM u UNION ALL SELECT id, 1, false, false FROM ct`;

export const COMMIT = commit();

/** The same, where turns that end take callers' headers away. Only deliveries carry a request. */
export const COMMIT_AND_FORGET = commit(`, f AS (
  UPDATE task_events e SET request = (e.request::jsonb - 'headers')::json FROM w JOIN u ON u.id = w.id
  WHERE w.forgets AND e.task_id = u.id AND e.request -> 'headers' IS NOT NULL AND (u.ended OR e.seq <= w.read)
)`);

/** Where a write stands whose commit was not heard of: $1 task, $2 token. Only deliveries carry a request. */
export const WRITTEN = `
SELECT (SELECT max(seq) FROM task_events WHERE task_id = $1 AND request IS NULL) AS version,
  lease_writes, lease_until IS NULL AS ended
FROM tasks WHERE id = $1 AND lease_token = $2`;

export const CREATED = 'SELECT id FROM tasks WHERE id = $1';

/**
 * A message or approval for a task: appended, and the lease taken when no turn runs. $1 task, $2..$4 scope or
 * null, $5 states in which it waits or null, $6 payload, $7 request, $8 key, $9 hash, $10 holder, $11 lease ms, $12 state,
 * $13 status time, $14 the time that the status has to be of, or null, $15 bytes
 * of the payload, $16 most bytes that were delivered before, or null. With a push config, LOCK comes before it in
 * the same transaction and ADD_PUSH after.
 */
export const DELIVER = `
WITH old AS (
  SELECT id, lease_until IS NULL AS idle FROM tasks t
  WHERE id = $1 AND ($2::text IS NULL OR (organisation = $2 AND owner = $3 AND agent = $4)) AND NOT direct
    AND state NOT IN ${ENDED} AND ($5::int[] IS NULL OR (state = ANY($5) AND ${WAITING}))
    AND ($14::timestamptz IS NULL OR status_at = $14)
    AND ($16::bigint IS NULL OR inbox_bytes <= $16)
  FOR UPDATE
), u AS (
  UPDATE tasks t SET
    version = version + 1,
    inbox_seq = version + 1,
    inbox_bytes = inbox_bytes + $15,
    state = coalesce($12::smallint, state),
    status_at = coalesce($13::timestamptz, status_at),
    changed = CASE WHEN $12::smallint IS NULL AND version > 1 THEN changed ELSE ${TRANSACTION} END,
    lease_holder = CASE WHEN idle THEN $10 ELSE lease_holder END,
    lease_token = CASE WHEN idle THEN lease_token + 1 ELSE lease_token END,
    lease_writes = CASE WHEN idle THEN 0 ELSE lease_writes END,
    lease_until = CASE WHEN idle THEN clock_timestamp() + $11 * interval '1 millisecond' ELSE lease_until END,
    attempt = CASE WHEN idle THEN 1 ELSE attempt END,
    handovers = CASE WHEN idle THEN 0 ELSE handovers END
  FROM old WHERE t.id = old.id
  RETURNING t.id, version, lease_token, idle, push
), e AS (
  INSERT INTO task_events (task_id, seq, payload, request, message_key, message_hash)
  SELECT id, version, $6, $7, $8, $9 FROM u
)
SELECT version, lease_token, idle, push FROM u`;

/** All changes to a task's push configs go one after the other: $1 task. */
export const LOCK = 'SELECT FROM tasks WHERE id = $1 FOR UPDATE';

/**
 * Adds a push config or replaces the one of the same id, under the task's row lock. $1 task, $2 id, $3 url,
 * $4 host, $5 secret, $6 version, $7 most configs, $8 extensions. One that replaces keeps its place in the log: what
 * was not delivered yet goes to the new address. No row: there are too many.
 */
export const ADD_PUSH = `
WITH t AS (
  UPDATE tasks SET push = true WHERE id = $1 RETURNING id, version, state IN ${ENDED} AS ended
)
INSERT INTO push_configs AS p (task_id, id, url, host, secret, version, extensions, cursor, state)
SELECT t.id, $2, $3, $4, $5, $6, $8::text[], t.version, CASE WHEN ended THEN 'done' ELSE 'open' END FROM t
WHERE (SELECT count(*) FROM push_configs o WHERE o.task_id = $1 AND o.id <> $2 AND o.state <> 'deleted') < $7
ON CONFLICT (task_id, id) DO UPDATE SET
  url = excluded.url, host = excluded.host, secret = excluded.secret, version = excluded.version,
  extensions = excluded.extensions, tries = 0, moves = p.moves + (p.state = 'deleted')::int,
  cursor = CASE WHEN p.state = 'deleted' THEN excluded.cursor ELSE p.cursor END,
  state = CASE WHEN p.state = 'dead' THEN 'open' WHEN p.state = 'deleted' THEN excluded.state ELSE p.state END,
  due_at = CASE WHEN p.state = 'deleted' THEN 'infinity' WHEN p.cursor < excluded.cursor THEN now() ELSE p.due_at END
RETURNING cursor`;

export const FIND_MESSAGE = 'SELECT task_id, seq, message_hash FROM task_events WHERE message_key = $1';

/** Many callers' reads at once, each of one task in its reach: $1 ids, $2 organisations, $3 owners or null, $4 agents. */
export const READ = `
SELECT r.place, t.version, t.agent_version, t.snapshot, ${TAIL}
FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[])
  WITH ORDINALITY AS r(id, organisation, owner, agent, place)
JOIN tasks t ON t.id = r.id AND NOT t.direct AND (t.organisation, t.owner, t.agent)
  IS NOT DISTINCT FROM (r.organisation, coalesce(r.owner, t.owner), r.agent)`;

/** Bytes that the tasks of a page, or the events of a batch, come to: they are all in memory at once. */
const PAGE_BYTES = 8 * 1024 * 1024;

/**
 * The first rows of a page: as many as its bytes allow, and at least one. `found` says how many there are. Those that
 * are too many even as they are stored, compressed, are not read to be weighed.
 */
const fitting = (page: string, order: string) => `
SELECT * FROM (
  SELECT stored.*,
    sum(coalesce(octet_length(snapshot::text), 0) + coalesce(octet_length(tail::text), 0)) OVER following AS bytes
  FROM (
    SELECT page.*, count(*) OVER () AS found, row_number() OVER following AS place,
      sum(pg_column_size(snapshot)) OVER following AS least
    FROM (${page}) AS page WINDOW following AS (ORDER BY ${order})
  ) AS stored WHERE place = 1 OR coalesce(least, 0) <= ${PAGE_BYTES} WINDOW following AS (ORDER BY ${order})
) AS weighed WHERE place = 1 OR bytes <= ${PAGE_BYTES} ORDER BY ${order}`;

export const READ_MANY = fitting(
  `SELECT t.id, t.created_at, t.version, t.snapshot, ${TAIL} FROM tasks t
  WHERE t.id = ANY($1::uuid[]) AND ${OWNED}`,
  'created_at DESC, id DESC',
);

/** By the oldest task: the context stays with the version that it began on. */
export const CONTEXT_VERSION = `
SELECT t.agent_version FROM tasks t WHERE t.context_id = $1 AND ${SCOPE} ORDER BY t.created_at, t.id LIMIT 1`;

export const CONTEXT = fitting(
  `SELECT t.id, t.created_at, t.version, t.snapshot, ${TAIL} FROM tasks t
  WHERE t.context_id = $1 AND ${SCOPE} ORDER BY t.created_at DESC, t.id DESC LIMIT $5`,
  'created_at DESC, id DESC',
);

/** What a list may be narrowed to. */
export type ListFilter = 'context_id' | 'state';

/** $2 is the owner, or null in a statement for a whole organisation. */
const ownerIs = (isOfOne: boolean) => (isOfOne ? 't.owner = $2' : '$2::text IS NULL');

/**
 * A page and the count of all matches: $1..$3 reach, $4 the oldest status time, $5 and $6 the last row before,
 * $7 limit, then a value for each filter. A statement holds the filters that its list has and no others: a plan
 * that has to do for every list reads all of the caller's tasks to find a page far down.
 */
export function list(filters: readonly ListFilter[], isOfOne = true): string {
  const narrowed = filters.map((column, index) => ` AND t.${column} = $${8 + index}`).join('');
  const matches = `t.organisation = $1 AND ${ownerIs(isOfOne)} AND t.agent = $3 AND NOT t.direct
    AND t.status_at >= $4::timestamptz${narrowed}`;
  const page = `
  SELECT t.id, t.version, t.status_at, t.snapshot, ${TAIL} FROM tasks t
  WHERE ${matches} AND (t.status_at, t.id) < ($5::timestamptz, $6::uuid)
  ORDER BY t.status_at DESC, t.id DESC LIMIT $7`;
  return `
SELECT (SELECT count(*) FROM tasks t WHERE ${matches}) AS total, page.*
FROM (SELECT 1) AS one LEFT JOIN (${fitting(page, 'status_at DESC, id DESC')}) AS page ON true
ORDER BY page.status_at DESC, page.id DESC`;
}

/** $1..$3 reach, $4 and $5 the last row before, $6 limit, $7 whether the agent may still answer with a Message alone. */
export const changes = (isOfOne: boolean) =>
  fitting(
    `SELECT t.id, t.changed, t.version, t.snapshot, ${TAIL} FROM tasks t
  WHERE t.organisation = $1 AND ${ownerIs(isOfOne)} AND t.agent = $3 AND NOT t.direct
    AND (t.changed, t.id) > ($4::bigint, $5::uuid) AND (t.version > 1 OR NOT $7::boolean)
    AND t.changed < pg_snapshot_xmin(pg_current_snapshot())::text::bigint
  ORDER BY t.changed, t.id LIMIT $6`,
    'changed, id',
  );

export const EVENTS = `
SELECT seq, payload FROM (
  SELECT seq, payload, sum(size) OVER (ORDER BY seq) - size AS before FROM (
    SELECT seq, payload, octet_length(payload::text) AS size FROM task_events
    WHERE task_id = $1 AND seq > $2 ORDER BY seq LIMIT $3
  ) AS next
) AS weighed WHERE before < ${PAGE_BYTES} ORDER BY seq`;

/** A task whole, up to event $2. */
export const SNAPSHOT = `
SELECT snapshot_seq AS version, snapshot, NULL AS tail FROM tasks
WHERE id = $1 AND snapshot IS NOT NULL AND snapshot_seq <= $2
UNION ALL SELECT seq, payload -> 'task', NULL FROM task_events WHERE task_id = $1 AND seq = 1
ORDER BY version DESC LIMIT 1`;

/** Whether the task has entered a status after $2, up to $3. */
export const MOVED = `
SELECT EXISTS (
  SELECT 1 FROM task_events WHERE task_id = $1 AND seq > $2 AND seq <= $3 AND payload -> 'statusUpdate' IS NOT NULL
) AS moved`;

export const VERSIONS = 'SELECT id, version FROM tasks WHERE id = ANY($1::uuid[])';

export const REQUEST_CANCEL = `
UPDATE tasks t SET cancel_requested_at = coalesce(cancel_requested_at, clock_timestamp())
WHERE t.id = $1 AND ${OWNED} AND t.state NOT IN ${ENDED}
RETURNING coalesce(lease_until > clock_timestamp(), false) AS running`;

/** What a turn needs to run, joined to rows `t` that were just claimed. */
const CLAIM = `t.id, t.organisation, t.owner, t.agent, t.agent_version, t.lease_token, t.lease_writes,
  t.attempt, t.handovers,
  t.cancel_requested_at IS NOT NULL AS cancel_requested, t.version, t.snapshot, t.snapshot_seq, ${TAIL}, t.inbox_seq,
  d.seq AS trigger_seq, d.payload AS trigger, d.request`;

/** A turn begins with the oldest delivery that no turn has read to its end; without one, with the newest. */
const TRIGGER = `LEFT JOIN LATERAL (
    SELECT e.seq, e.payload, e.request FROM task_events e
    WHERE e.task_id = t.id AND e.request IS NOT NULL AND (e.seq > t.read_seq OR e.seq = t.inbox_seq)
    ORDER BY e.seq LIMIT 1
  ) d ON true`;

/**
 * Takes a parked, waiting or orphaned task: $1 task, $2 holder, $3 lease ms. With $4, the status time of a task
 * that waits for somebody, also from a turn that waits with it.
 */
export const ACQUIRE = `
WITH t AS (
  UPDATE tasks SET lease_holder = $2, lease_token = lease_token + 1, lease_writes = 0, attempt = 1,
    handovers = 0, lease_until = clock_timestamp() + $3 * interval '1 millisecond'
  WHERE id = $1 AND NOT direct AND state NOT IN ${ENDED} AND CASE WHEN $4::timestamptz IS NULL
    THEN lease_until IS NULL OR lease_until < clock_timestamp()
    ELSE ${WAITING} AND status_at = $4 END
  RETURNING *
)
SELECT ${CLAIM} FROM t ${TRIGGER}`;

/**
 * Takes over turns whose lease has run out: $1 holder, $2 lease ms, $3 limit, $4 agents, each with a major number of
 * versions in $5. A lease without holder was given back before its agent ran. After five minutes anybody takes a
 * turn: its agent, or its version, is served nowhere.
 */
export const TAKE_EXPIRED = `
WITH t AS (
  UPDATE tasks SET lease_holder = $1, lease_token = lease_token + 1, lease_writes = 0,
    attempt = attempt + CASE WHEN lease_holder IS NULL THEN 0 ELSE 1 END,
    lease_until = clock_timestamp() + $2 * interval '1 millisecond'
  WHERE id IN (
    SELECT id FROM tasks WHERE lease_until < clock_timestamp()
      AND ((agent = ANY($4::text[]) AND (agent_version IS NULL OR (agent, split_part(agent_version, '.', 1)) IN
        (SELECT * FROM unnest($4::text[], $5::text[])))) OR lease_until < clock_timestamp() - interval '5 minutes')
    ORDER BY lease_until LIMIT $3 FOR UPDATE SKIP LOCKED
  )
  RETURNING *
)
SELECT ${CLAIM} FROM t ${TRIGGER}`;

export const FIND = `SELECT ${CLAIM} FROM tasks t ${TRIGGER} WHERE id = $1 AND NOT direct`;

export const RELOAD = `SELECT ${CLAIM} FROM tasks t ${TRIGGER} WHERE id = $1 AND lease_token = $2 AND lease_until IS NOT NULL`;

/**
 * Prolongs leases: $1 leases, $2 lease ms. A row that a commit holds right now is skipped, not waited for
 * (two multi-row updates could deadlock); it still counts as held, and the next heartbeat prolongs it.
 */
export const RENEW = `
WITH held AS (
  SELECT * FROM json_to_recordset($1::json) AS h(id uuid, token bigint)
), free AS (
  SELECT t.id FROM tasks t JOIN held h ON h.id = t.id AND h.token = t.lease_token
  WHERE t.lease_until IS NOT NULL FOR UPDATE OF t SKIP LOCKED
), u AS (
  UPDATE tasks t SET lease_until = clock_timestamp() + $2 * interval '1 millisecond' FROM free WHERE t.id = free.id
)
SELECT t.id, t.cancel_requested_at IS NOT NULL AS cancel_requested, t.inbox_seq
FROM tasks t JOIN held h ON h.id = t.id AND h.token = t.lease_token WHERE t.lease_until IS NOT NULL`;

/** Gives leases back: $1 leases, $2 whether their agents had begun: then the turn is handed over. */
export const RELEASE = `
UPDATE tasks t SET lease_until = clock_timestamp(), lease_holder = CASE WHEN $2 THEN lease_holder END,
  handovers = t.handovers + CASE WHEN $2 THEN 1 ELSE 0 END
FROM json_to_recordset($1::json) AS h(id uuid, token bigint)
WHERE t.id = h.id AND t.lease_token = h.token AND t.lease_until IS NOT NULL`;

/** Only deliveries carry a request. */
export const DELIVERIES = `
SELECT seq, payload FROM task_events WHERE task_id = $1 AND seq > $2 AND request IS NOT NULL ORDER BY seq`;

export const PAGE_SECRET = `SELECT value FROM deployment_secrets WHERE name = 'page-token'`;
