import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { AUTH_ENTITIES } from '../../src/auth/index.js';
import { isMigrated, MIGRATIONS, migrate, Postgres } from '../../src/database/index.js';
import { TASK_ENTITIES } from '../../src/tasks/index.js';
import { testConfig } from '../support/config.js';
import { administer, databaseUrl } from '../support/postgres.setup.js';

/** An empty database, without the tables that the template of the tests has. */
const name = `parley_test_${randomUUID().replaceAll('-', '')}`;
let server: string;
let url: string;

beforeAll(async () => {
  server = inject('postgres').url;
  url = databaseUrl(server, name);
  await administer(server, `create database ${name}`);
});
afterAll(() => administer(server, `drop database ${name} with (force)`));

async function tables(): Promise<string[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query(
    `select tablename from pg_tables where schemaname = 'public' order by 1`,
  );
  await client.end();
  return rows.map(({ tablename }) => tablename);
}

describe('migrations', () => {
  it('run once when three replicas start together on an empty database', async () => {
    await Promise.all([migrate(url), migrate(url), migrate(url)]);
    const postgres = new Postgres(testConfig({ PARLEY_DATABASE_URL: url }));
    expect(await isMigrated(postgres)).toBe(true);
    const { rows } = await postgres.query({ text: 'select name from migrations order by id' });
    expect(rows.map((row) => row.name)).toEqual(MIGRATIONS.map((migration) => migration.name));
    await postgres.onApplicationShutdown();
  });

  it('leave the tables as the entities describe them; indexes are known to the migrations alone', async () => {
    const dataSource = await new DataSource({
      type: 'postgres',
      url,
      entities: [...TASK_ENTITIES, ...AUTH_ENTITIES],
    }).initialize();
    try {
      const { upQueries } = await dataSource.driver.createSchemaBuilder().log();
      const drift = upQueries.map(({ query }) => query).filter((query) => !query.startsWith('DROP INDEX'));
      expect(drift).toEqual([]);
    } finally {
      await dataSource.destroy();
    }
  });

  it('can be taken back to an empty database and run again', async () => {
    const dataSource = await new DataSource({
      type: 'postgres',
      url,
      migrations: [...MIGRATIONS],
    }).initialize();
    try {
      for (const _ of MIGRATIONS) await dataSource.undoLastMigration();
      expect(await tables()).toEqual(['migrations']);
    } finally {
      await dataSource.destroy();
    }
    await migrate(url);
    expect((await tables()).length).toBeGreaterThan(1);
  });
});
