import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { DataSource, type QueryRunner } from 'typeorm';
import type { Migration } from './migration.js';
import { MIGRATIONS } from './migrations/index.js';
import type { Postgres } from './postgres.js';

/** An arbitrary number that all replicas agree on. */
const LOCK = 7_292_539;

const LOCK_POLL_MS = 50;

/** Migrations that only `parley migrate --breaking` runs. */
export class BreakingMigrations extends Error {
  override name = 'BreakingMigrations';

  constructor(readonly names: readonly string[]) {
    super(
      `the release before cannot run on the schema of this one (${names.join(', ')}); stop its replicas, then run: parley migrate --breaking`,
    );
  }
}

export interface MigrationOptions {
  /** Run breaking ones too, on a database that is in use. */
  readonly breaking: boolean;
}

/**
 * Brings the database to the level of this release, one transaction per migration. Replicas that start
 * together take turns, on a connection of its own: TypeORM by itself lets them collide.
 *
 * @returns the names of those that were run
 * @throws BreakingMigrations before anything is run; never on a new database
 */
export async function runMigrations(
  dataSource: DataSource,
  url: string,
  { breaking }: MigrationOptions,
): Promise<string[]> {
  return withClient(url, async (client) => {
    await takeTurn(client);
    const applied = await appliedNames(client);
    const refused = pendingAfter(applied).filter((migration) => migration.breaking);
    if (refused.length > 0 && applied.size > 0 && !breaking) {
      throw new BreakingMigrations(refused.map(({ name }) => name));
    }
    return (await dataSource.runMigrations({ transaction: 'each' })).map(({ name }) => name);
  });
}

/** {@link runMigrations} on the database behind the URL. */
export async function migrate(
  url: string,
  options: MigrationOptions = { breaking: true },
): Promise<string[]> {
  const dataSource = await new DataSource({
    type: 'postgres',
    url,
    migrations: [...MIGRATIONS],
  }).initialize();
  try {
    return await runMigrations(dataSource, url, options);
  } finally {
    await dataSource.destroy();
  }
}

export interface MigrationState {
  readonly name: string;
  /** `later`: run by a release that came after this one, which knows no more of it. */
  readonly state: 'applied' | 'pending' | 'later';
  readonly breaking?: boolean;
}

/** Every migration that this release or the database knows, oldest first. Changes nothing. */
export async function migrationStates(url: string): Promise<MigrationState[]> {
  const applied = await withClient(url, appliedNames);
  const own = MIGRATIONS.map((migration) => new migration());
  const later = [...applied].filter((name) => !own.some((migration) => migration.name === name));
  return [
    ...own.map(({ name, breaking }): MigrationState => {
      return { name, breaking, state: applied.has(name) ? 'applied' : 'pending' };
    }),
    ...later.map((name): MigrationState => ({ name, state: 'later' })),
  ];
}

/** The statements that {@link migrate} would run, by migration. Asks what is pending, and changes nothing. */
export async function pendingStatements(url: string): Promise<{ migration: Migration; sql: string[] }[]> {
  const pending = pendingAfter(await withClient(url, appliedNames));
  return Promise.all(
    pending.map(async (migration) => {
      const sql: string[] = [];
      const recorder = { query: async (text: string) => void sql.push(text.trim()) };
      await migration.up(recorder as unknown as QueryRunner);
      return { migration, sql };
    }),
  );
}

/**
 * Whether every migration of this release is in the database; later ones may be too.
 *
 * @throws DatabaseUnavailable
 */
export async function isMigrated(postgres: Postgres): Promise<boolean> {
  const names = MIGRATIONS.map(({ name }) => name);
  const { rowCount } = await postgres.query({
    name: 'migrations',
    text: 'select from migrations where name = any($1::text[])',
    values: [names],
  });
  return rowCount === names.length;
}

const pendingAfter = (applied: ReadonlySet<string>) =>
  MIGRATIONS.map((migration) => new migration()).filter(({ name }) => !applied.has(name));

/**
 * Asks again and again: whoever waits inside a statement has a snapshot, and an index that is made CONCURRENTLY
 * would wait for it in turn.
 */
async function takeTurn(client: pg.Client): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ taken: boolean }>('select pg_try_advisory_lock($1) as taken', [
      LOCK,
    ]);
    if (rows[0]?.taken) return;
    await pause(LOCK_POLL_MS);
  }
}

async function appliedNames(client: pg.Client): Promise<Set<string>> {
  const { rows: tables } = await client.query(`select from pg_tables where tablename = 'migrations'
    and schemaname = current_schema()`);
  if (tables.length === 0) return new Set();
  const { rows } = await client.query<{ name: string }>('select name from migrations order by id');
  return new Set(rows.map(({ name }) => name));
}

async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, application_name: 'parley migrations' });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
