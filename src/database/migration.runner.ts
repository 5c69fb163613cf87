import pg from 'pg';
import { DataSource } from 'typeorm';
import { MIGRATIONS } from './migrations/index.js';
import type { Postgres } from './postgres.js';

/** An arbitrary number that all replicas agree on. */
const LOCK = 7_292_539;

/**
 * Brings the database to the level of this release, one transaction per migration. Replicas that start
 * together take turns, on a connection of its own: TypeORM by itself lets them collide.
 */
export async function runMigrations(dataSource: DataSource, url: string): Promise<void> {
  const lock = new pg.Client({ connectionString: url, application_name: 'parley migrations' });
  await lock.connect();
  try {
    await lock.query('select pg_advisory_lock($1)', [LOCK]);
    await dataSource.runMigrations({ transaction: 'each' });
  } finally {
    await lock.end();
  }
}

/** Brings the database behind the URL to the level of this release. */
export async function migrate(url: string): Promise<void> {
  const dataSource = await new DataSource({
    type: 'postgres',
    url,
    migrations: [...MIGRATIONS],
  }).initialize();
  try {
    await runMigrations(dataSource, url);
  } finally {
    await dataSource.destroy();
  }
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
