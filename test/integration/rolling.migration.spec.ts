import { setTimeout as pause } from 'node:timers/promises';
import { DataSource, type QueryRunner } from 'typeorm';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { artifact, completed, textPart, working } from '../../src/agents/index.js';
import { isMigrated, MIGRATIONS, type Migration } from '../../src/database/index.js';
import { TaskState } from '../../src/protocol/index.js';
import { call, collect, House, type Replica, type ReplicaOptions, until } from '../support/house.js';

/** What the next release brings: a column on each of the tables that are written most, a table, an index. */
class NextRelease1999999999999 implements Migration {
  name = 'NextRelease1999999999999';
  readonly breaking = false;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `ALTER TABLE tasks ADD COLUMN region text, ADD COLUMN weight integer NOT NULL DEFAULT 1`,
    );
    await runner.query('ALTER TABLE task_events ADD COLUMN cost numeric');
    await runner.query('CREATE INDEX tasks_by_region ON tasks (region)');
    await runner.query('CREATE TABLE regions (task_id uuid REFERENCES tasks ON DELETE CASCADE)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE regions');
    await runner.query('ALTER TABLE task_events DROP COLUMN cost');
    await runner.query('ALTER TABLE tasks DROP COLUMN region, DROP COLUMN weight');
  }
}

/** What a running release of before can trip over. */
const TAKES_AWAY =
  /\bDROP (TABLE|COLUMN)|\bRENAME\b|\bALTER COLUMN\b.*\b(TYPE|SET NOT NULL)|\bADD COLUMN ((?!DEFAULT)[^,])*NOT NULL(?![^,]*DEFAULT)/is;
/** Columns that were dropped after a release had stopped to use them. */
const CONTRACTED = /DROP COLUMN (expires_at)\b/g;

const CHUNKS = 40;
const options: ReplicaOptions = {
  script: async function* () {
    yield working();
    for (let n = 0; n < CHUNKS; n++) {
      yield artifact({ artifactId: 'x', parts: [textPart(`${n} `)] }, { append: n > 0 });
      await pause(10);
    }
    yield completed();
  },
};

let house: House;
let next: DataSource;
beforeEach(async () => {
  house = await House.open();
  const migrations = [...MIGRATIONS, NextRelease1999999999999];
  next = await new DataSource({ type: 'postgres', url: house.url, migrations }).initialize();
});
afterEach(async () => {
  await next.destroy();
  await house.close();
});

async function whole(replica: Replica, id: string): Promise<void> {
  await until(async () => (await replica.read(id)).status?.state === TaskState.COMPLETED);
  const { artifacts } = await replica.read(id);
  const text = artifacts.flatMap(({ parts }) => parts.map(({ content }) => content.value)).join('');
  expect(text).toBe(Array.from({ length: CHUNKS }, (_, n) => `${n} `).join(''));
}

describe('a rolling update', () => {
  it('leaves this release reading and writing on the tables of the next one, and after it was taken back (B78)', async () => {
    const old = await house.replica(options).live();
    const during = await old.begin();
    const stream = collect(await old.subscribe(during));

    await next.runMigrations({ transaction: 'each' });
    expect(await isMigrated(old.postgres)).toBe(true);
    const after = await old.begin();
    const restarted = await house.replica(options).live();
    const other = await restarted.begin();
    await next.query(`UPDATE tasks SET region = 'north', weight = 2`);
    for (const id of [during, after, other]) {
      await whole(old, id);
      await whole(restarted, id);
    }
    expect((await stream).length).toBeGreaterThan(1);
    expect((await old.service.listTasks({} as never, call())).totalSize).toBe(3);

    const back = await old.begin();
    await next.undoLastMigration();
    await whole(restarted, back);
    await whole(old, await restarted.begin());
  });

  it('has only migrations that take nothing away from the release before, unless they say so (B78)', async () => {
    for (const migration of MIGRATIONS.map((Each) => new Each())) {
      const sql = (await statementsOf(migration)).map((each) => each.replace(CONTRACTED, ''));
      expect(sql).not.toEqual([]);
      if (!migration.breaking)
        for (const each of sql) expect(`${migration.name}: ${each}`).not.toMatch(TAKES_AWAY);
    }
  });
});

async function statementsOf(migration: Migration): Promise<string[]> {
  const statements: string[] = [];
  const recorder = { query: async (text: string) => void statements.push(text) };
  await migration.up(recorder as unknown as QueryRunner);
  return statements;
}
