import { randomUUID } from 'node:crypto';
import type { Postgres } from '../database/index.js';
import { A2AError, TaskState } from '../protocol/index.js';
import { addPushTarget, available, isTerminal, type PushTarget, type TaskScope } from '../tasks/index.js';
import * as sql from './postgres-push.sql.js';
import {
  type ClaimLimits,
  type DeliveryFilter,
  type DeliveryRow,
  type FailingHost,
  type PushBacklog,
  type PushClaim,
  type PushNext,
  type PushReport,
  PushStore,
  type Redelivery,
  type StoredTarget,
} from './push.store.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const EVENTS_OF_A_CLAIM = 64;
const BYTES_OF_A_CLAIM = 1024 * 1024;
/** Stands between payloads: it cannot occur in JSON. An array of them would cost a good deal to read. */
const SEPARATOR = '\x1e';
const TERMINAL = Object.values(TaskState).filter((state) => typeof state === 'number' && isTerminal(state));

interface ClaimRow extends PushTarget {
  readonly task_id: string;
  readonly agent: string;
  readonly cursor: number;
  readonly tries: number;
  readonly moves: number;
  readonly seqs: number[] | null;
  readonly payloads: string | null;
  readonly traceparent: string | null;
  readonly probe: boolean;
}

/** Push configs in Postgres. `claimMs`: how long a claim lasts whose holder is never heard of again. */
export class PostgresPushStore extends PushStore {
  constructor(
    private readonly postgres: Postgres,
    private readonly claimMs: number,
  ) {
    super();
  }

  async add(taskId: string, scope: TaskScope, target: PushTarget): Promise<void> {
    if (!UUID.test(taskId)) throw notFound(taskId);
    const work = this.postgres.transaction(async (client) => {
      const { rowCount } = await client.query(sql.LOCK_OWNED, [taskId, ...owner(scope)]);
      if (rowCount === 0) throw notFound(taskId);
      await addPushTarget(client, taskId, target);
    });
    await available(work);
  }

  async list(taskId: string, scope: TaskScope): Promise<StoredTarget[] | undefined> {
    if (!UUID.test(taskId)) return undefined;
    type Row = PushTarget & { id: string | null };
    const rows = await this.#rows<Row>('push-list', sql.LIST, [taskId, ...owner(scope)]);
    if (rows.length === 0) return undefined;
    return rows.filter((row) => row.id !== null).map((row) => ({ ...row, taskId }));
  }

  async remove(taskId: string, scope: TaskScope, id: string): Promise<string | null | undefined> {
    if (!UUID.test(taskId)) return undefined;
    const values = [taskId, ...owner(scope), id];
    return (await this.#rows<{ claim: string | null }>('push-remove', sql.REMOVE, values))[0]?.claim;
  }

  async isHeld(taskId: string, id: string, claim: string): Promise<boolean> {
    return (await this.#rows('push-held', sql.IS_HELD, [taskId, id, claim])).length > 0;
  }

  async sweep(): Promise<void> {
    await this.#rows('push-sweep', sql.SWEEP, []);
  }

  async claim(fresh: readonly string[], { limit, perHost, hosts }: ClaimLimits): Promise<PushClaim[]> {
    const claim = randomUUID();
    const rooms = JSON.stringify([...hosts].map(([host, room]) => ({ host, room })));
    const most = [EVENTS_OF_A_CLAIM, BYTES_OF_A_CLAIM];
    const values = [claim, this.claimMs, limit, rooms, perHost, ...most, fresh];
    const rows = await this.#rows<ClaimRow>('push-claim', sql.CLAIM, values);
    return rows.map(
      ({ task_id, agent, cursor, tries, moves, probe, seqs, payloads, traceparent, ...target }) => {
        const texts = payloads?.split(SEPARATOR) ?? [];
        return {
          claim,
          taskId: task_id,
          agent,
          target,
          cursor,
          tries,
          moves,
          probe,
          traceparent: traceparent ?? undefined,
          events: texts.map((json, i) => ({ seq: seqs![i]!, json })),
        };
      },
    );
  }

  async report(reports: readonly PushReport[]): Promise<readonly PushNext[]> {
    const rows = reports.map(({ claim, cursor, sent, tries, delayMs, dead, last }) => ({
      task_id: claim.taskId,
      id: claim.target.id,
      claim: claim.claim,
      moves: claim.moves,
      cursor,
      sent,
      tries,
      delay_ms: Math.round(delayMs),
      dead,
      url: claim.target.url,
      secret: claim.target.secret,
      ...last,
    }));
    type Row = { task_id: string; id: string; next: PushNext };
    const done = await this.#rows<Row>('push-report', sql.REPORT, [JSON.stringify(rows), TERMINAL]);
    const next = new Map(done.map((row) => [`${row.task_id}/${row.id}`, row.next]));
    return reports.map(({ claim }) => next.get(`${claim.taskId}/${claim.target.id}`) ?? 'later');
  }

  async deliveries(filter: DeliveryFilter): Promise<DeliveryRow[]> {
    return (await available(this.postgres.query<DeliveryRow>(sql.deliveries(filter)))).rows;
  }

  async redeliver(what: Redelivery): Promise<number> {
    return (await available(this.postgres.query(sql.redeliver(what)))).rowCount ?? 0;
  }

  async pause(host: string): Promise<void> {
    await this.#rows('push-pause', sql.PAUSE, [host]);
  }

  async resume(host: string): Promise<void> {
    await this.#rows('push-resume', sql.RESUME, [host]);
  }

  async paused(): Promise<string[]> {
    return (await this.#rows<{ host: string }>('push-paused', sql.PAUSED, [])).map((row) => row.host);
  }

  async trip(host: string, failures: number, probed: boolean): Promise<void> {
    await this.#rows('push-trip', sql.TRIP, [host, failures, probed]);
  }

  async recover(host: string): Promise<void> {
    await this.#rows('push-recover', sql.RECOVER, [host]);
  }

  async failing(): Promise<FailingHost[]> {
    return this.#rows<FailingHost>('push-failing', sql.FAILING, []);
  }

  async backlog(): Promise<PushBacklog> {
    return (await this.#rows<PushBacklog>('push-backlog', sql.BACKLOG, []))[0]!;
  }

  async #rows<Row extends object>(name: string, text: string, values: unknown[]): Promise<Row[]> {
    return (await available(this.postgres.query<Row>({ name, text, values }))).rows;
  }
}

const owner = ({ organisation, owner, agent }: TaskScope) => [organisation, owner, agent];
const notFound = (taskId: string) => new A2AError('taskNotFound', { metadata: { taskId } });
