import { createHmac, timingSafeEqual } from 'node:crypto';
import { DatabaseUnavailable, type Postgres } from '../../database/index.js';
import { A2AError, TaskState } from '../../protocol/index.js';
import {
  type CallbackDelivery,
  type CallbackPost,
  Callbacks,
  type CallbackTurn,
  type Posted,
} from './callbacks.js';

const POLL_MS = 500;
const UNIQUE_VIOLATION = '23505';
const MOST_COLLISIONS = 20;
const ENDED = [TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELED, TaskState.REJECTED];

const SECRET = `SELECT value FROM deployment_secrets WHERE name = 'callback'`;
/**
 * The next number of the turn: of two at once, one collides and comes again, so that none is passed over. A turn that is
 * over has its message read.
 */
const POST = `
  INSERT INTO agent_callbacks (task_id, turn, n, key, events)
  SELECT id, $2, coalesce((SELECT max(n) FROM agent_callbacks WHERE task_id = $1 AND turn = $2), 0) + 1, $3, $4
  FROM tasks WHERE id = $1 AND NOT state = ANY ($5) AND read_seq < $2
    AND NOT EXISTS (SELECT FROM agent_callbacks WHERE task_id = $1 AND turn = $2 AND key = $3)`;
const IS_KNOWN = 'SELECT FROM agent_callbacks WHERE task_id = $1 AND turn = $2 AND key = $3';
const AFTER = 'SELECT n, events FROM agent_callbacks WHERE task_id = $1 AND turn = $2 AND n > $3 ORDER BY n';
const NEWEST = `
  SELECT task_id, turn, max(n) AS n FROM agent_callbacks
  WHERE task_id = ANY ($1::uuid[]) GROUP BY task_id, turn`;

interface Waiter extends CallbackTurn {
  n: number;
  wake: () => void;
}

interface CallbackRow extends Record<string, unknown> {
  readonly task_id: string;
  readonly turn: number;
  readonly n: number;
  readonly events: string;
  readonly value: string;
}

/** Callbacks in a table. A turn that waits is woken at once by its own replica, by others at the next poll. */
export class PostgresCallbacks extends Callbacks {
  #url: string | undefined;
  #secret: Promise<string> | undefined;
  readonly #waiters = new Set<Waiter>();
  #poll: NodeJS.Timeout | undefined;

  constructor(private readonly postgres: Postgres | undefined) {
    super();
  }

  listenAt(url: string): void {
    this.#url = url;
  }

  async addressOf(of: CallbackTurn): Promise<string | undefined> {
    if (this.#url === undefined) return undefined;
    return `${this.#url}/callbacks/${of.taskId}/${of.turn}/${await this.#signature(of)}`;
  }

  async post({ taskId, turn, signature, events, key }: CallbackPost): Promise<Posted> {
    if (!isSame(signature, await this.#signature({ taskId, turn }))) return 'unknown';
    for (let collisions = 0; ; collisions++) {
      try {
        const { rowCount } = await this.#query(POST, [taskId, turn, key, JSON.stringify(events), ENDED]);
        if (rowCount === 1) this.#wake({ taskId, turn });
        if (rowCount === 1) return 'taken';
        return (await this.#query(IS_KNOWN, [taskId, turn, key])).rowCount === 1 ? 'taken' : 'ended';
      } catch (error) {
        const collided = (error as { code?: string }).code === UNIQUE_VIOLATION;
        if (!collided || collisions >= MOST_COLLISIONS) throw error;
      }
    }
  }

  async *follow(
    { taskId, turn }: CallbackTurn,
    n: number,
    signal: AbortSignal,
  ): AsyncIterable<CallbackDelivery> {
    const waiter: Waiter = { taskId, turn, n, wake: () => {} };
    const wake = () => waiter.wake();
    signal.addEventListener('abort', wake);
    this.#waiters.add(waiter);
    this.#poll ??= setInterval(() => void this.#look(), POLL_MS).unref();
    try {
      while (!signal.aborted) {
        const woken = new Promise<void>((resolve) => (waiter.wake = resolve));
        const { rows } = await this.#query(AFTER, [taskId, turn, waiter.n]).catch(() => ({ rows: [] }));
        for (const row of rows) {
          waiter.n = row.n;
          yield { n: row.n, events: JSON.parse(row.events) as unknown[] };
          if (signal.aborted) return;
        }
        if (rows.length === 0) await woken;
      }
    } finally {
      signal.removeEventListener('abort', wake);
      this.#waiters.delete(waiter);
      if (this.#waiters.size === 0) {
        clearInterval(this.#poll);
        this.#poll = undefined;
      }
    }
  }

  /** One statement for all turns that wait here. */
  async #look(): Promise<void> {
    const ids = [...this.#waiters].map(({ taskId }) => taskId);
    const { rows } = await this.#query(NEWEST, [ids]).catch(() => ({ rows: [] }));
    for (const row of rows) this.#wake({ taskId: row.task_id, turn: row.turn }, row.n);
  }

  #wake({ taskId, turn }: CallbackTurn, n = Number.POSITIVE_INFINITY): void {
    for (const waiter of this.#waiters)
      if (waiter.taskId === taskId && waiter.turn === turn && waiter.n < n) waiter.wake();
  }

  async #signature({ taskId, turn }: CallbackTurn): Promise<string> {
    this.#secret ??= this.#query(SECRET, []).then(({ rows }) => rows[0]!.value);
    this.#secret.catch(() => {
      this.#secret = undefined;
    });
    return createHmac('sha256', await this.#secret)
      .update(`${taskId}/${turn}`)
      .digest('base64url');
  }

  async #query(text: string, values: unknown[]) {
    try {
      return await this.postgres!.query<CallbackRow>({
        text,
        values,
      });
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable)) throw error;
      throw new A2AError('unavailable', { retryAfter: 1, cause: error });
    }
  }
}

function isSame(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
