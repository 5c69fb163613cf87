import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DatabaseUnavailable, Postgres, WritesRefused } from '../../src/database/index.js';
import { testConfig } from '../support/config.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';

describe('Postgres', () => {
  let database: TestDatabase;
  let postgres: Postgres;

  beforeAll(async () => {
    database = await createDatabase();
    postgres = new Postgres(testConfig({ PARLEY_DATABASE_URL: database.url }));
  });
  afterAll(async () => {
    await postgres.onApplicationShutdown();
    await database.drop();
  });

  it('reads json as text, int8 as number and timestamptz as Date', async () => {
    const text = `select '{"a": 1}'::jsonb as b, '{"a":1}'::json as j, array['{"a":1}'::json] as js,
      9007199254740991::int8 as n, array[1,2]::int8[] as ns, timestamptz '2026-01-02T03:04:05.678Z' as t`;
    const { rows } = await postgres.query({ text });
    expect(rows).toEqual([
      {
        b: '{"a": 1}',
        j: '{"a":1}',
        js: ['{"a":1}'],
        n: 9007199254740991,
        ns: [1, 2],
        t: new Date('2026-01-02T03:04:05.678Z'),
      },
    ]);
  });

  it('commits what a transaction did, and nothing of one that throws', async () => {
    await postgres.query({ text: 'create table ledger (n int)' });
    await postgres.transaction((client) => client.query('insert into ledger values (1)'));
    const failing = postgres.transaction(async (client) => {
      await client.query('insert into ledger values (2)');
      throw new RangeError('changed my mind');
    });
    await expect(failing).rejects.toThrow(RangeError);
    expect((await postgres.query({ text: 'select n from ledger' })).rows).toEqual([{ n: 1 }]);
  });

  it('keeps the error of a statement that is wrong', async () => {
    await expect(postgres.query({ text: 'select * from nowhere' })).rejects.toMatchObject({ code: '42P01' });
  });

  it('says DatabaseUnavailable when the session is ended by the server, and works again afterwards', async () => {
    const ended = postgres.query({ text: 'select pg_terminate_backend(pg_backend_pid())' });
    await expect(ended).rejects.toThrow(DatabaseUnavailable);
    expect((await postgres.query({ text: 'select 1 as one' })).rows).toEqual([{ one: 1 }]);
  });

  it('says DatabaseUnavailable when a statement takes longer than its time', async () => {
    const slow = postgres.transaction(async (client) => {
      await client.query('set local statement_timeout = 20');
      await client.query('select pg_sleep(10)');
    });
    await expect(slow).rejects.toThrow(DatabaseUnavailable);
  });

  it('knows when writes are refused, tries whether they are taken again, and leaves the standby', async () => {
    const other = new Postgres(testConfig({ PARLEY_DATABASE_URL: database.url, PARLEY_DATABASE_POOL: '1' }));
    const name = new URL(database.url).pathname.slice(1);
    const readOnly = (on: 'on' | 'off') =>
      postgres.query({ text: `alter database ${name} set default_transaction_read_only = ${on}` });
    const write = () => other.transaction((client) => client.query('delete from task_events'));
    const events = { text: 'select from task_events' };

    await readOnly('on');
    expect(await other.takesWrites()).toBe(true);
    await expect(write()).rejects.toThrow(WritesRefused);
    expect(await other.takesWrites()).toBe(false);
    expect((await other.query(events)).rowCount).toBe(0);
    await expect(write()).rejects.toThrow(WritesRefused);

    await readOnly('off');
    await expect(write()).resolves.toBeDefined();
    expect(await other.takesWrites()).toBe(true);
    expect((await other.query(events)).rowCount).toBe(0);
    await other.onApplicationShutdown();
  });

  it('says DatabaseUnavailable when nobody listens', async () => {
    const nowhere = new Postgres(testConfig({ PARLEY_DATABASE_URL: 'postgres://u:p@127.0.0.1:1/x' }));
    await expect(nowhere.query({ text: 'select 1' })).rejects.toThrow(DatabaseUnavailable);
    await expect(nowhere.session('listener')).rejects.toThrow(DatabaseUnavailable);
    await nowhere.onApplicationShutdown();
  });

  it('gives a session outside the pool that can listen', async () => {
    const session = await postgres.session('listener');
    const heard = new Promise((resolve) => session.on('notification', ({ payload }) => resolve(payload)));
    await session.query('listen bell');
    await postgres.query({ text: "select pg_notify('bell', 'ding')" });
    expect(await heard).toBe('ding');
    await session.end();
  });
});
