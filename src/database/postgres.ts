import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import pg from 'pg';
import { Config } from '../config/index.js';
import { COLUMN_TYPES } from './column.types.js';
import { databaseError, WritesRefused } from './database.errors.js';

export type { PoolClient, QueryConfig, QueryResult, QueryResultRow } from 'pg';

const STATEMENT_TIMEOUT_MS = 30_000;
const CONNECT_TIMEOUT_MS = 5_000;

/**
 * Every statement finds its rows by an index. Prepared while the tables are small, a plan would read or hash a
 * whole table, and be kept while the table grows: each statement would cost as much as there are tasks.
 * (Plans that are switched off count as dear, which must not start the compiler.)
 */
const BY_INDEX = [
  'enable_seqscan = off',
  'enable_hashjoin = off',
  'enable_mergejoin = off',
  'enable_material = off',
  'jit = off',
]
  .map((setting) => `SET ${setting}`)
  .join('; ');

/** Writes as turns do, more than a page has room for, so that the file of the log has to grow. */
const TRY_TO_WRITE = `BEGIN;
  INSERT INTO task_events (task_id, seq, payload)
    SELECT gen_random_uuid(), n, to_json(repeat('x', 1800)) FROM generate_series(1, 8) AS n;
  ROLLBACK`;

/** A pool of connections for hand-written SQL. Json comes as text, int8 as number, timestamptz as Date. */
@Injectable()
export class Postgres implements OnApplicationShutdown {
  readonly pool: pg.Pool;
  #writesRefused = false;

  constructor(private readonly config: Config) {
    this.pool = new pg.Pool({
      ...this.connection('parley'),
      max: config.databasePool,
      // The pool waits for it, and lets the connection go when it fails.
      onConnect: async (client) => {
        await client.query(BY_INDEX);
      },
    });
    // An idle connection that breaks has left the pool already; without a listener it would end the process.
    this.pool.on('error', () => undefined);
  }

  /**
   * Runs one statement. A `name` makes it a prepared statement of its connection: the same name always with
   * the same text.
   *
   * @throws DatabaseUnavailable where trying again later may help; else the driver's `DatabaseError`
   */
  async query<Row extends pg.QueryResultRow>(query: pg.QueryConfig): Promise<pg.QueryResult<Row>> {
    try {
      return await this.pool.query<Row>(query);
    } catch (error) {
      throw this.#failure(error);
    }
  }

  /** Runs the work between BEGIN and COMMIT on one connection; a throw rolls back. Errors as {@link query}. */
  async transaction<Result>(work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> {
    const client = await this.pool.connect().catch((error) => {
      throw databaseError(error);
    });
    let broken = false;
    try {
      await client.query('begin');
      const result = await work(client);
      await client.query('commit');
      return result;
    } catch (error) {
      const failure = this.#failure(error);
      // What has become a standby stays one for this connection; a new one may find the server that took its place.
      broken = failure instanceof WritesRefused;
      await client.query('rollback').catch(() => {
        broken = true;
      });
      throw failure;
    } finally {
      client.release(broken);
    }
  }

  /**
   * Whether writes are taken. Says so without asking until one was refused; from then on every call tries one and
   * takes it back, until that goes well: a replica that gets no requests would not find out otherwise.
   *
   * @throws DatabaseUnavailable
   */
  async takesWrites(): Promise<boolean> {
    if (!this.#writesRefused) return true;
    try {
      await this.query({ text: TRY_TO_WRITE });
      this.#writesRefused = false;
    } catch (error) {
      if (!(error instanceof WritesRefused)) throw error;
    }
    return !this.#writesRefused;
  }

  /**
   * A connected session outside the pool, for LISTEN. It does not come back by itself when it is lost: listen
   * for `error` and `end`, and close it with `end()`.
   */
  async session(name: string): Promise<pg.Client> {
    const client = new pg.Client(this.connection(`parley ${name}`));
    try {
      await client.connect();
      return client;
    } catch (error) {
      throw databaseError(error);
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await this.pool.end();
  }

  #failure(error: unknown): unknown {
    const failure = databaseError(error);
    if (failure instanceof WritesRefused) this.#writesRefused = true;
    return failure;
  }

  private connection(name: string): pg.ClientConfig {
    return {
      connectionString: this.config.databaseUrl,
      application_name: name,
      types: COLUMN_TYPES,
      keepAlive: true,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      statement_timeout: STATEMENT_TIMEOUT_MS,
      // A little later than the server's own limit: only a connection that has gone silent gets here.
      query_timeout: STATEMENT_TIMEOUT_MS + CONNECT_TIMEOUT_MS,
    };
  }
}
