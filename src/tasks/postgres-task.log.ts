import { DatabaseUnavailable, type Postgres, type SecretCipher } from '../database/index.js';
import {
  encodeMessageText,
  StreamEvent,
  type StreamResponse,
  StreamResponseSchema,
  TaskSchema,
} from '../protocol/index.js';
import { inChildSpan, isFollowed, measure, secondsSince } from '../telemetry/index.js';
import { GroupLane } from './group.lane.js';
import { COMMIT, COMMIT_AND_FORGET, CREATED, WRITTEN } from './postgres-task.sql.js';
import type { Committed, Lease, NewTask, TurnWrite } from './task.store.js';
import { TurnRequestText } from './turn.request.text.js';

/** A write with its events' JSON, which the readers get too, and its snapshot's, taken before the task moves on. */
interface Append {
  readonly write: TurnWrite;
  readonly json: readonly string[];
  readonly snapshot?: string;
}

type Item = { readonly append: Append } | { readonly create: NewTask; readonly json: string };
type Outcome = Committed | Lease | undefined;

interface CommitRow {
  readonly id: string;
  readonly version: number;
  readonly ended: boolean;
  readonly push: boolean;
}

export interface LogOptions {
  /** Names this replica in `lease_holder`. */
  readonly holder: string;
  readonly leaseMs: number;
  /** Encrypts the headers of callers. */
  readonly cipher?: SecretCipher;
  /** Told of each task with push configs that has new events. */
  readonly onPush?: (taskId: string) => void;
}

const isUnavailable = (error: unknown) => error instanceof DatabaseUnavailable;

const LANES = 2;
const LIMITS = { items: 1_024, size: 4 * 1024 * 1024 };
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

/**
 * The write side of the log: every task's writes go through one of two lanes, chosen by its id, so that they
 * keep their order while both connections stay busy.
 */
export class PostgresTaskLog {
  readonly #lanes: GroupLane<Item, Outcome>[];

  constructor(
    private readonly postgres: Postgres,
    private readonly options: LogOptions,
  ) {
    this.#lanes = Array.from({ length: LANES }, () => new GroupLane(this.#commit, LIMITS, isUnavailable));
  }

  create(create: NewTask): Promise<Lease | undefined> {
    const json = toJson({ case: 'task', value: create.task });
    return this.#submit(create.task.id, { create, json }, json.length) as Promise<Lease | undefined>;
  }

  append(write: TurnWrite): Promise<Committed | undefined> {
    const json = write.events.map((event) => toJson(event.payload));
    const snapshot = write.snapshot && encodeMessageText(TaskSchema, write.snapshot.task);
    const size = json.reduce((sum, text) => sum + text.length, snapshot?.length ?? 0);
    const append = { write, json, snapshot };
    return this.#submit(write.lease.taskId, { append }, size) as Promise<Committed | undefined>;
  }

  #submit(taskId: string, item: Item, size: number): Promise<Outcome> {
    // The last digits of a time-ordered id are random.
    const lane = Number.parseInt(taskId.slice(-2), 16) % LANES;
    return this.#lanes[lane]!.submit(item, size);
  }

  #commit = async (items: readonly Item[]): Promise<Outcome[]> => {
    const group = new Group(items, this.options);
    const rows = await this.#measured(items, () => this.#execute(group));
    const found = new Map(rows.map((row) => [row.id, row]));
    for (const row of rows) if (row.push) this.options.onPush?.(row.id);
    return Promise.all(items.map((item) => this.#outcome(item, group, found)));
  };

  /** A span of the first that is traced, with links to the others. */
  async #measured<T>(items: readonly Item[], work: () => Promise<T>): Promise<T> {
    const start = performance.now();
    const [parent, ...links] = items.map(traceparentOf).filter(isFollowed);
    measure('a2a.server.commit.size', items.length, {});
    try {
      const result = await inChildSpan('store/commit', { parent, links }, work);
      measure('a2a.server.commit.duration', secondsSince(start), { outcome: 'ok' });
      return result;
    } catch (error) {
      measure('a2a.server.commit.duration', secondsSince(start), { outcome: 'failed' });
      throw error;
    }
  }

  /**
   * Runs the group, again after a broken connection until a lease would be over. A repeat is safe: new tasks
   * and written events are recognised. Groups of new tasks alone fail at once, their callers wait.
   */
  async #execute(group: Group): Promise<CommitRow[]> {
    const deadline = performance.now() + this.options.leaseMs;
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      try {
        const values = group.values();
        return (await this.postgres.query<CommitRow>({ ...group.statement, values })).rows;
      } catch (error) {
        if (!(error instanceof DatabaseUnavailable) || !group.hasWrites) throw error;
        if (performance.now() + pause > deadline) throw error;
        group.repeated = true;
        await new Promise((resolve) => setTimeout(resolve, pause));
      }
    }
  }

  async #outcome(item: Item, group: Group, found: ReadonlyMap<string, CommitRow>): Promise<Outcome> {
    if ('create' in item) {
      const { id } = item.create.task;
      const there = found.has(id) || (group.repeated && (await this.#exists(id)));
      return there ? { taskId: id, token: 1 } : undefined;
    }
    const { write, json } = item.append;
    const merged = group.merged(write.lease);
    if (!merged) return undefined;
    const row = found.get(write.lease.taskId) ?? (group.repeated ? await this.#recover(merged) : undefined);
    if (!row) return undefined;
    const offset = write.written - merged.written;
    const first = row.version - merged.count + 1 + offset;
    const events = write.events.map((event, i) => new StreamEvent(event, first + i, json[i]));
    return { events, ended: write.end !== undefined && row.ended };
  }

  async #exists(id: string): Promise<boolean> {
    return (await this.postgres.query({ name: 'created', text: CREATED, values: [id] })).rows.length > 0;
  }

  /** Whether a write was committed though nobody heard of it. */
  async #recover(merged: MergedWrite): Promise<CommitRow | undefined> {
    const { taskId, token } = merged.lease;
    const { rows } = await this.postgres.query<{ version: number; lease_writes: number; ended: boolean }>({
      name: 'written',
      text: WRITTEN,
      values: [taskId, token],
    });
    const row = rows[0];
    if (!row || row.lease_writes !== merged.written + merged.count) return undefined;
    return { id: taskId, version: row.version, ended: row.ended, push: false };
  }
}

interface MergedWrite {
  readonly lease: Lease;
  readonly written: number;
  count: number;
  state?: number;
  statusAt?: number;
  direct?: boolean;
  read?: number;
  forgets?: boolean;
  snapshot?: { readonly json: string; readonly seq: number; readonly base: number };
}

/**
 * One commit's items as the four JSON arrays that COMMIT takes; writes of one task become one. A lease that was
 * taken over while its writes waited is left out: the newer one's go in its place.
 */
class Group {
  repeated = false;
  readonly #merged = new Map<string, MergedWrite>();
  readonly #events: string[] = [];
  readonly #creates: string[] = [];
  readonly #pushes: string[] = [];

  constructor(items: readonly Item[], options: LogOptions) {
    for (const item of items) if ('append' in item) this.#open(item.append.write);
    for (const item of items) {
      if ('create' in item) {
        const { task, push } = item.create;
        this.#creates.push(createJson(item.create, item.json, options));
        if (push) this.#pushes.push(JSON.stringify({ ...push, task_id: task.id }));
      } else this.#add(item.append);
    }
  }

  get hasWrites(): boolean {
    return this.#merged.size > 0;
  }

  get statement() {
    const forgets = [...this.#merged.values()].some((merged) => merged.forgets);
    return forgets
      ? { name: 'commit-and-forget', text: COMMIT_AND_FORGET }
      : { name: 'commit', text: COMMIT };
  }

  /** What the writes of a lease have become; undefined where a newer lease writes. */
  merged({ taskId, token }: Lease): MergedWrite | undefined {
    const merged = this.#merged.get(taskId)!;
    return merged.lease.token === token ? merged : undefined;
  }

  /** Tasks in the order of their ids: statements that lock them in one order cannot wait for each other. */
  values(): string[] {
    const merged = [...this.#merged].sort(([a], [b]) => (a < b ? -1 : 1));
    const writes = merged.map(([, write]) => writeJson(write));
    return [array(writes), array(this.#events), array(this.#creates), array(this.#pushes)];
  }

  #open({ lease, written }: TurnWrite): void {
    const { lease: older } = this.#merged.get(lease.taskId) ?? {};
    if (!older || older.token < lease.token) this.#merged.set(lease.taskId, { lease, written, count: 0 });
  }

  #add({ write, json, snapshot }: Append): void {
    const { taskId } = write.lease;
    const merged = this.merged(write.lease);
    if (!merged) return;
    for (const text of json)
      this.#events.push(`{"id":"${taskId}","ord":${++merged.count},"payload":${text}}`);
    merged.read = write.end?.read;
    merged.forgets = write.end?.forgetsHeaders;
    merged.state = write.state ?? merged.state;
    merged.statusAt = write.statusAt ?? merged.statusAt;
    merged.direct = write.direct ?? merged.direct;
    if (snapshot) {
      const { seq } = write.snapshot!;
      merged.snapshot = { json: snapshot, seq, base: seq - merged.count };
    }
  }
}

const traceparentOf = (item: Item): string | undefined =>
  'create' in item ? item.create.request.traceparent : item.append.write.traceparent;

function writeJson(merged: MergedWrite): string {
  const { lease, written, count, state, statusAt, direct, read, forgets, snapshot } = merged;
  const row = JSON.stringify({
    id: lease.taskId,
    token: lease.token,
    written,
    n: count,
    state,
    status_at: statusAt === undefined ? undefined : new Date(statusAt),
    direct,
    read,
    forgets,
    snapshot_seq: snapshot?.seq,
    snapshot_base: snapshot?.base,
  });
  return snapshot ? `${row.slice(0, -1)},"snapshot":${snapshot.json}}` : row;
}

function createJson(
  { scope, agentVersion, task, request, identity, push }: NewTask,
  json: string,
  options: LogOptions,
): string {
  const row = JSON.stringify({
    id: task.id,
    organisation: scope.organisation,
    owner: scope.owner,
    agent: scope.agent,
    agent_version: agentVersion,
    context_id: task.contextId,
    state: task.status!.state,
    status_at: new Date(timestampMs(task)),
    message_key: identity?.key,
    message_hash: identity?.hash,
    holder: options.holder,
    lease_ms: options.leaseMs,
    push: push !== undefined,
  });
  const text = new TurnRequestText(options.cipher).write(request, task.id);
  return `${row.slice(0, -1)},"request":${text},"payload":${json}}`;
}

function timestampMs({ status }: NewTask['task']): number {
  const { seconds, nanos } = status!.timestamp!;
  return Number(seconds) * 1000 + nanos / 1e6;
}

function toJson(payload: StreamResponse['payload']): string {
  const response = { $typeName: 'lf.a2a.v1.StreamResponse' as const, payload };
  return encodeMessageText(StreamResponseSchema, response);
}

function array(items: readonly string[]): string {
  return `[${items.join(',')}]`;
}
