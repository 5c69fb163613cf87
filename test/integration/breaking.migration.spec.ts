import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { BreakingMigrations, migrate, migrationStates, pendingStatements } from '../../src/database/index.js';
import type { MIGRATIONS as Migrations } from '../../src/database/migrations/index.js';
import { administer, databaseUrl } from '../support/postgres.setup.js';

/** The next release, whose last migration takes away what this one reads. */
const { next } = vi.hoisted(() => ({ next: { isReleased: false } }));
vi.mock('../../src/database/migrations/index.js', async (original) => {
  const { MIGRATIONS } = await original<{ MIGRATIONS: typeof Migrations }>();
  class Contract1999999999999 {
    name = 'Contract1999999999999';
    readonly breaking = true;
    async up(runner: { query(sql: string): Promise<unknown> }): Promise<void> {
      await runner.query('ALTER TABLE api_keys DROP COLUMN name');
    }
    async down(): Promise<void> {}
  }
  const all = [...MIGRATIONS, Contract1999999999999];
  // Two lists out of one module: spread where they are used, so that the test can release in between.
  return {
    MIGRATIONS: new Proxy(all, {
      get: (list, key) => Reflect.get(next.isReleased ? list : list.slice(0, -1), key),
    }),
  };
});

const name = `parley_test_${randomUUID().replaceAll('-', '')}`;
let url: string;
beforeAll(async () => {
  url = databaseUrl(inject('postgres').url, name);
  await administer(inject('postgres').url, `create database ${name}`);
  await migrate(url, { breaking: false });
  next.isReleased = true;
});
afterAll(() => administer(inject('postgres').url, `drop database ${name} with (force)`));

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
    next.isReleased = false;
    expect((await migrationStates(url)).at(-1)).toEqual({ name: 'Contract1999999999999', state: 'later' });
  });
});
