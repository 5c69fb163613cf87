import type { Postgres } from '../database/index.js';
import {
  A2AError,
  encodeMessageText,
  StreamEvent,
  StreamResponseSchema,
  type Task,
} from '../protocol/index.js';
import { inChildSpan } from '../telemetry/index.js';
import { available } from './database.outage.js';
import { GroupLane } from './group.lane.js';
import { addPushTarget } from './postgres-push.target.js';
import { type LogOptions, PostgresTaskLog } from './postgres-task.log.js';
import * as sql from './postgres-task.sql.js';
import {
  type ClaimRow,
  type EventRow,
  storedEvent,
  storedTask,
  type TaskRow,
  turnClaim,
} from './task.rows.js';
import {
  type CancelMark,
  type ChangeQuery,
  type Changes,
  type Committed,
  type Delivered,
  type Delivery,
  type FreePlace,
  type HeldLease,
  type KnownMessage,
  type Lease,
  type NewTask,
  type StoredTask,
  type TaskPage,
  type TaskQuery,
  type TaskReach,
  type TaskScope,
  TaskStore,
  type TurnClaim,
  type TurnWrite,
} from './task.store.js';
import { TurnRequestText } from './turn.request.text.js';

const UNIQUE_VIOLATION = '23505';
const NIL = '00000000-0000-0000-0000-000000000000';
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** A group's tasks are all in memory at once. One with a large task may take long. */
const READS = { items: 32, size: 32, overtakeMs: 20 };

const isUnavailable = (error: unknown) => error instanceof A2AError && error.kind === 'unavailable';

interface Statement {
  readonly name: string;
  readonly text: string;
  readonly values: unknown[];
}

interface Read {
  readonly taskId: string;
  readonly reach: TaskReach;
}

interface DeliveredRow {
  readonly version: number;
  readonly lease_token: number;
  readonly idle: boolean;
  readonly push: boolean;
}

/** Tasks in Postgres: hand-written statements, each one round trip. */
export class PostgresTaskStore extends TaskStore {
  readonly #log: PostgresTaskLog;
  readonly #requests: TurnRequestText;
  readonly #reads = new GroupLane((reads: readonly Read[]) => this.#readAll(reads), READS, isUnavailable);

  constructor(
    private readonly postgres: Postgres,
    private readonly options: LogOptions,
  ) {
    super();
    this.#log = new PostgresTaskLog(postgres, options);
    this.#requests = new TurnRequestText(options.cipher);
  }

  create(task: NewTask): Promise<Lease | undefined> {
    return available(this.#log.create(task));
  }

  append(write: TurnWrite): Promise<Committed | undefined> {
    return available(this.#log.append(write));
  }

  async deliver(delivery: Delivery): Promise<Delivered | 'duplicate' | undefined> {
    if (!UUID.test(delivery.taskId)) return undefined;
    const payload = encodeMessageText(StreamResponseSchema, delivery.event);
    try {
      const row = await this.#deliver(delivery, this.#deliveryValues(delivery, payload));
      if (!row) return undefined;
      if (row.push) this.options.onPush?.(delivery.taskId);
      const event = new StreamEvent(delivery.event, row.version, payload);
      return { event, lease: row.idle ? { taskId: delivery.taskId, token: row.lease_token } : undefined };
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === UNIQUE_VIOLATION) return 'duplicate';
      throw error;
    }
  }

  async #deliver({ taskId, push, request }: Delivery, values: unknown[]): Promise<DeliveredRow | undefined> {
    const deliver = { name: 'deliver', text: sql.DELIVER, values };
    if (!push) return (await this.#rows<DeliveredRow>(deliver, request.traceparent))[0];
    const work = this.postgres.transaction(async (client) => {
      await client.query(sql.LOCK, [taskId]);
      const row = (await client.query<DeliveredRow>(deliver)).rows[0];
      if (row) await addPushTarget(client, taskId, push);
      return row;
    });
    return available(work);
  }

  #deliveryValues(delivery: Delivery, payload: string) {
    const { taskId, scope, states, request, identity, state, statusAt, since, mostBytes } = delivery;
    return [
      taskId,
      ...(scope ? [scope.organisation, scope.owner, scope.agent] : [null, null, null]),
      states ?? null,
      payload,
      this.#requests.write(request, taskId),
      identity?.key ?? null,
      identity?.hash ?? null,
      this.options.holder,
      this.options.leaseMs,
      state ?? null,
      statusAt === undefined ? null : new Date(statusAt),
      since === undefined ? null : new Date(since),
      Buffer.byteLength(payload),
      mostBytes ?? null,
    ];
  }

  async find(taskId: string): Promise<Omit<TurnClaim, 'lease'> | undefined> {
    if (!UUID.test(taskId)) return undefined;
    const rows = await this.#rows<ClaimRow>({ name: 'find', text: sql.FIND, values: [taskId] });
    return rows[0] && turnClaim(rows[0], this.#requests);
  }

  async findMessage(key: string): Promise<KnownMessage | undefined> {
    const rows = await this.#rows<{ task_id: string; seq: number; message_hash: string }>({
      name: 'find-message',
      text: sql.FIND_MESSAGE,
      values: [key],
    });
    return rows[0] && { taskId: rows[0].task_id, seq: rows[0].seq, hash: rows[0].message_hash };
  }

  async read(taskId: string, reach: TaskReach): Promise<StoredTask | undefined> {
    if (!UUID.test(taskId)) return undefined;
    return inChildSpan('store/read', { parent: reach.traceparent }, () =>
      this.#reads.submit({ taskId, reach }, 1),
    );
  }

  async #readAll(reads: readonly Read[]): Promise<(StoredTask | undefined)[]> {
    type Row = TaskRow & { place: number };
    const reaches = reads.map(({ reach }) => reached(reach));
    const columns = [0, 1, 2].map((column) => reaches.map((reach) => reach[column]));
    const query = { name: 'read', text: sql.READ, values: [reads.map(({ taskId }) => taskId), ...columns] };
    const { rows } = await available(this.postgres.query<Row>(query));
    const found = new Map(rows.map((row) => [row.place, row]));
    return reads.map((_, index) => {
      const row = found.get(index + 1);
      return row && storedTask(row);
    });
  }

  async readMany(taskIds: readonly string[], scope: TaskScope): Promise<Task[]> {
    const ids = taskIds.filter((id) => UUID.test(id));
    if (ids.length === 0) return [];
    const rows = await this.#rows<TaskRow>(
      { name: 'read-many', text: sql.READ_MANY, values: [ids, ...owner(scope)] },
      scope.traceparent,
    );
    return rows.map((row) => storedTask(row).task);
  }

  async context(contextId: string, scope: TaskScope, limit: number): Promise<Task[]> {
    const rows = await this.#rows<TaskRow>(
      { name: 'context', text: sql.CONTEXT, values: [contextId, ...owner(scope), limit] },
      scope.traceparent,
    );
    return rows.map((row) => storedTask(row).task);
  }

  async contextVersion(contextId: string, scope: TaskScope): Promise<string | undefined> {
    const values = [contextId, ...owner(scope)];
    const rows = await this.#rows<{ agent_version: string | null }>(
      { name: 'context-version', text: sql.CONTEXT_VERSION, values },
      scope.traceparent,
    );
    return rows[0]?.agent_version ?? undefined;
  }

  async list({ scope, contextId, state, statusAfter, limit, after }: TaskQuery): Promise<TaskPage> {
    type Row = TaskRow & { id: string | null; status_at: Date; total: number; found: number };
    const filters: [sql.ListFilter, unknown][] = [];
    const isOfOne = scope.owner !== undefined;
    if (contextId !== undefined) filters.push(['context_id', contextId]);
    if (state !== undefined) filters.push(['state', state]);
    const names = filters.map(([name]) => name);
    const rows = await this.#rows<Row>(
      {
        name: [isOfOne ? 'list' : 'list-all', ...names].join('-'),
        text: sql.list(names, isOfOne),
        values: [
          ...reached(scope),
          statusAfter === undefined ? '-infinity' : new Date(statusAfter),
          after ? new Date(after.statusAt) : 'infinity',
          after?.id ?? NIL,
          limit + 1,
          ...filters.map(([, value]) => value),
        ],
      },
      scope.traceparent,
    );
    const tasks = rows
      .filter((row) => row.id !== null)
      .slice(0, limit)
      .map((row) => ({ ...storedTask(row), statusAt: row.status_at.getTime() }));
    return { tasks, total: rows[0]?.total ?? 0, more: (rows[0]?.found ?? 0) > tasks.length };
  }

  async changes({ scope, after, limit, decided = false }: ChangeQuery): Promise<Changes> {
    const { transaction, id } = after ?? { transaction: 0, id: NIL };
    const isOfOne = scope.owner !== undefined;
    const values = [...reached(scope), transaction, id, limit, decided];
    type Row = TaskRow & { id: string; changed: number };
    const rows = await this.#rows<Row>(
      { name: isOfOne ? 'changes' : 'changes-all', text: sql.changes(isOfOne), values },
      scope.traceparent,
    );
    const last = rows.at(-1);
    return { tasks: rows.map(storedTask), position: last && { transaction: last.changed, id: last.id } };
  }

  async events(taskId: string, seq: number, limit: number): Promise<StreamEvent[]> {
    return (
      await this.#rows<EventRow>({ name: 'events', text: sql.EVENTS, values: [taskId, seq, limit] })
    ).map(storedEvent);
  }

  async snapshot(taskId: string, last: number): Promise<StoredTask | undefined> {
    const rows = await this.#rows<TaskRow>({ name: 'snapshot', text: sql.SNAPSHOT, values: [taskId, last] });
    return rows[0] && storedTask(rows[0]);
  }

  async moved(taskId: string, seq: number, last: number): Promise<boolean> {
    return (
      await this.#rows<{ moved: boolean }>({ name: 'moved', text: sql.MOVED, values: [taskId, seq, last] })
    )[0]!.moved;
  }

  async versions(taskIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const rows = await this.#rows<{ id: string; version: number }>({
      name: 'versions',
      text: sql.VERSIONS,
      values: [taskIds],
    });
    return new Map(rows.map((row) => [row.id, row.version]));
  }

  async requestCancel(taskId: string, scope: TaskScope): Promise<CancelMark | undefined> {
    if (!UUID.test(taskId)) return undefined;
    return (
      await this.#rows<CancelMark>(
        { name: 'cancel', text: sql.REQUEST_CANCEL, values: [taskId, ...owner(scope)] },
        scope.traceparent,
      )
    )[0];
  }

  async acquire(taskId: string, waitingSince?: number): Promise<TurnClaim | undefined> {
    const { holder, leaseMs } = this.options;
    const since = waitingSince === undefined ? null : new Date(waitingSince);
    const rows = await this.#rows<ClaimRow>({
      name: 'acquire',
      text: sql.ACQUIRE,
      values: [taskId, holder, leaseMs, since],
    });
    return rows[0] && this.#whole(rows[0]);
  }

  async renew(leases: readonly Lease[]): Promise<readonly HeldLease[]> {
    type Row = { id: string; cancel_requested: boolean; inbox_seq: number };
    const rows = await this.#rows<Row>({
      name: 'renew',
      text: sql.RENEW,
      values: [leaseRows(leases), this.options.leaseMs],
    });
    return rows.map((row) => ({
      taskId: row.id,
      cancelRequested: row.cancel_requested,
      inboxSeq: row.inbox_seq,
    }));
  }

  async release(leases: readonly Lease[], begun: boolean): Promise<void> {
    await this.#rows({ name: 'release', text: sql.RELEASE, values: [leaseRows(leases), begun] });
  }

  async takeExpired(places: readonly FreePlace[], limit: number): Promise<TurnClaim[]> {
    const { holder, leaseMs } = this.options;
    const agents = places.map(({ agent }) => agent);
    const majors = places.map(({ major }) => major);
    const values = [holder, leaseMs, limit, agents, majors];
    const rows = await this.#rows<ClaimRow>({ name: 'take-expired', text: sql.TAKE_EXPIRED, values });
    const claims = await Promise.all(rows.map((row) => this.#whole(row)));
    return claims.filter((claim) => claim !== undefined);
  }

  async deliveries(taskId: string, seq: number): Promise<StreamEvent[]> {
    return (
      await this.#rows<EventRow>({ name: 'deliveries', text: sql.DELIVERIES, values: [taskId, seq] })
    ).map(storedEvent);
  }

  async reload({ taskId, token }: Lease): Promise<TurnClaim | undefined> {
    const rows = await this.#rows<ClaimRow>({ name: 'reload', text: sql.RELOAD, values: [taskId, token] });
    return rows[0] && turnClaim(rows[0], this.#requests);
  }

  /** A row that was waited for can be newer than the events the same statement saw: those are read again. */
  async #whole(row: ClaimRow): Promise<TurnClaim | undefined> {
    const seen = row.tail ? (JSON.parse(row.tail) as unknown[]).length : 0;
    if (row.trigger && row.version - (row.snapshot_seq ?? 0) === seen) return turnClaim(row, this.#requests);
    return this.reload({ taskId: row.id, token: row.lease_token });
  }

  /** In a span of its own where `parent` is followed. */
  async #rows<Row extends object>(statement: Statement, parent?: string): Promise<Row[]> {
    const query = () => this.postgres.query<Row>(statement);
    return (await available(inChildSpan(`store/${statement.name}`, { parent }, query))).rows;
  }
}

/** In the order in which every statement over many tasks locks them: two can then not wait for each other. */
function leaseRows(leases: readonly Lease[]): string {
  const rows = leases.map(({ taskId, token }) => ({ id: taskId, token }));
  return JSON.stringify(rows.sort((a, b) => (a.id < b.id ? -1 : 1)));
}

function owner({ organisation, owner, agent }: TaskScope): string[] {
  return [organisation, owner, agent];
}

function reached({ organisation, owner, agent }: TaskReach): (string | null)[] {
  return [organisation, owner ?? null, agent];
}
