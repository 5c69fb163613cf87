import type { QueryRunner } from 'typeorm';
import type { Migration } from '../migration.js';

/**
 * What retention and erasure look for, each by an index of its own, so that their cost depends on what they
 * find and never on how much there is. Ages are settings, not columns: a new setting holds at once and for
 * tasks of any age. A task enters `tasks_by_end` once in its life, and the small ones that chunks are cut
 * from or that wait, for a while. `erasures` are the receipts: of whom, only a digest.
 */
export class Retention1764500000005 implements Migration {
  name = 'Retention1764500000005';
  readonly breaking = false;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE tasks DROP COLUMN expires_at, ADD COLUMN compacted boolean NOT NULL DEFAULT false`);
    for (const [name, columns, condition] of INDEXES) {
      await runner.query(`CREATE INDEX ${name} ON ${columns} WHERE ${condition}`);
    }
    await runner.query(`
      CREATE TABLE erasures (
        id uuid PRIMARY KEY,
        erased_at timestamptz(3) NOT NULL DEFAULT now(),
        subject_digest text NOT NULL,
        by text NOT NULL,
        tasks bigint NOT NULL,
        events bigint NOT NULL,
        push_configs bigint NOT NULL
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE erasures');
    for (const [name] of INDEXES) await runner.query(`DROP INDEX ${name}`);
    await runner.query(`ALTER TABLE tasks DROP COLUMN compacted, ADD COLUMN expires_at timestamptz`);
  }
}

/** States by their numbers in the protocol: ended ones are 3, 4, 5 and 7, waiting ones 6 and 8. */
const INDEXES = [
  ['tasks_by_end', 'tasks (agent, organisation, status_at)', 'state IN (3, 4, 5, 7)'],
  ['tasks_by_wait', 'tasks (agent, organisation, status_at)', 'state IN (6, 8)'],
  [
    'tasks_by_chunks',
    'tasks (agent, organisation, status_at)',
    'state IN (3, 4, 5, 7) AND NOT compacted AND NOT direct AND version > 32',
  ],
  ['tasks_by_direct_owner', 'tasks (organisation, owner)', 'direct'],
  ['push_configs_by_age', 'push_configs (coalesce(tried_at, created_at))', `state IN ('done', 'dead')`],
] as const;
