import { randomUUID } from 'node:crypto';
import pg from 'pg';
import type { QueryRunner } from 'typeorm';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import {
  BreakingMigrations,
  MIGRATIONS,
  migrate,
  migrationStates,
  pendingStatements,
} from '../../src/database/index.js';
import type { Migration } from '../../src/database/migration.js';
import { administer, databaseUrl } from '../support/postgres.setup.js';

/** What the next release takes away, which this one reads. */
class Contract1999999999999 implements Migration {
  name = 'Contract1999999999999';
  readonly breaking = true;
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE api_keys DROP COLUMN name');
  }
  async down(): Promise<void> {}
}

/** The list that every command reads: the test releases in between. */
const migrations = MIGRATIONS as (new () => Migration)[];
const takeBack = () => {
  if (migrations.at(-1) === Contract1999999999999) migrations.pop();
};

const name = `parley_test_${randomUUID().replaceAll('-', '')}`;
let url: string;
beforeAll(async () => {
  url = databaseUrl(inject('postgres').url, name);
  await administer(inject('postgres').url, `create database ${name}`);
  await migrate(url, { breaking: false });
  migrations.push(Contract1999999999999);
});
afterAll(async () => {
  takeBack();
  await administer(inject('postgres').url, `drop database ${name} with (force)`);
});

async function hasColumn(): Promise<boolean> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rowCount } = await client.query(
    `select from information_schema.columns where table_name = 'api_keys' and column_name = 'name'`,
  );
  await client.end();
  return rowCount === 1;
}

describe('a breaking migration', () => {
  it('does not come with the start of a replica, and says what to do', async () => {
    const refused = migrate(url, { breaking: false });
    await expect(refused).rejects.toBeInstanceOf(BreakingMigrations);
    await expect(refused).rejects.toThrow(/Contract1999999999999.*parley migrate --breaking/);
    expect(await hasColumn()).toBe(true);
  });

  it('is shown as pending and breaking, and its SQL without running it', async () => {
    expect((await migrationStates(url)).at(-1)).toEqual({
      name: 'Contract1999999999999',
      state: 'pending',
      breaking: true,
    });
    expect((await pendingStatements(url)).map(({ sql }) => sql)).toEqual([
      ['ALTER TABLE api_keys DROP COLUMN name'],
    ]);
    expect(await hasColumn()).toBe(true);
  });

  it('is run once by those who asked for it at the same time', async () => {
    const runs = await Promise.all([1, 2, 3].map(() => migrate(url, { breaking: true })));
    expect(runs.flat()).toEqual(['Contract1999999999999']);
    expect(await hasColumn()).toBe(false);
  });

  it('is known to the release before as one of a later release', async () => {
    takeBack();
    expect((await migrationStates(url)).at(-1)).toEqual({ name: 'Contract1999999999999', state: 'later' });
  });
});
