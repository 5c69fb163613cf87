import { createHash } from 'node:crypto';
import { setTimeout as after } from 'node:timers/promises';
import type { Postgres } from '../database/index.js';
import { type ErasureReceipt, ErasureStore, type ErasureSubject } from './erasure.store.js';

const BATCH = 200;
/** Tasks that a commit holds at the moment are passed over, and looked at again after this long. */
const PAUSE_MS = 50;

const OWNED = 'FROM tasks WHERE organisation = $1 AND owner = $2';
/** Two statements, since tasks with a direct reply and all others have an index each. */
const PICK = ['NOT direct', 'direct'].map(
  (part) => `SELECT id ${OWNED} AND ${part} LIMIT ${BATCH} FOR UPDATE SKIP LOCKED`,
);
const LEFT = `SELECT EXISTS (SELECT ${OWNED} AND NOT direct) OR EXISTS (SELECT ${OWNED} AND direct) AS some`;

/** A statement of its own, after the lock: it has to see what was committed until then. */
const ERASE = `
WITH e AS (
  DELETE FROM task_events WHERE task_id = ANY($1::uuid[]) RETURNING 1
), p AS (
  DELETE FROM push_configs WHERE task_id = ANY($1::uuid[]) RETURNING 1
), t AS (
  DELETE FROM tasks WHERE id = ANY($1::uuid[]) RETURNING 1
)
SELECT (SELECT count(*) FROM t) AS tasks, (SELECT count(*) FROM e) AS events,
  (SELECT count(*) FROM p) AS configs`;

const RECEIPT = `id, erased_at AS "erasedAt", subject_digest AS "subjectDigest", by, tasks, events,
  push_configs AS "pushConfigs"`;
const WRITE = `
INSERT INTO erasures (id, subject_digest, by, tasks, events, push_configs)
VALUES (gen_random_uuid(), $1, $2, $3, $4, $5)
RETURNING ${RECEIPT}`;
const READ = `SELECT ${RECEIPT} FROM erasures ORDER BY erased_at DESC, id LIMIT 1000`;

type Counts = { tasks: number; events: number; configs: number };

export class PostgresErasureStore extends ErasureStore {
  constructor(private readonly postgres: Postgres) {
    super();
  }

  async erase({ organisation, subject }: ErasureSubject, by: string): Promise<ErasureReceipt> {
    const owner = [organisation, subject];
    const sum: Counts = { tasks: 0, events: 0, configs: 0 };
    while (await this.#isLeft(owner)) {
      const before = sum.tasks;
      for (const pick of PICK) await this.#batch(pick, owner, sum);
      if (sum.tasks === before) await after(PAUSE_MS);
    }
    const digest = createHash('sha256').update(JSON.stringify(owner)).digest('hex');
    const values = [digest, by, sum.tasks, sum.events, sum.configs];
    return (await this.postgres.query<ErasureReceipt>({ text: WRITE, values })).rows[0]!;
  }

  async receipts(): Promise<readonly ErasureReceipt[]> {
    return (await this.postgres.query<ErasureReceipt>({ text: READ })).rows;
  }

  async #isLeft(owner: readonly string[]): Promise<boolean> {
    return (await this.postgres.query<{ some: boolean }>({ text: LEFT, values: [...owner] })).rows[0]!.some;
  }

  #batch(pick: string, owner: readonly string[], sum: Counts): Promise<void> {
    return this.postgres.transaction(async (client) => {
      const ids = (await client.query<{ id: string }>(pick, [...owner])).rows.map(({ id }) => id);
      if (ids.length === 0) return;
      const { tasks, events, configs } = (await client.query<Counts>(ERASE, [ids])).rows[0]!;
      sum.tasks += tasks;
      sum.events += events;
      sum.configs += configs;
    });
  }
}
