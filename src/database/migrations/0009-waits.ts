import type { QueryRunner } from 'typeorm';
import type { Migration } from '../migration.js';

/**
 * The waits that operators are told of, and which extensions a push config's receiver asked for.
 *
 * A row of `waits` is one wait of one task, named by the time of the status that began it. `began` and `ended` are
 * numbers of one sequence, given by one replica at a time, so that a reader who has seen a number has seen all before.
 * `told` is how much of it the webhook knows (1 that it began, 2 that it ended), `due_at` when it is to be told more.
 * Rows have no foreign key: that a task is gone ends its wait.
 */
export class Waits1764500000009 implements Migration {
  name = 'Waits1764500000009';
  readonly breaking = false;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('CREATE SEQUENCE wait_numbers');
    await runner.query(`
      CREATE TABLE waits (
        task_id uuid NOT NULL,
        since timestamptz(3) NOT NULL,
        agent text NOT NULL,
        organisation text NOT NULL,
        state smallint NOT NULL,
        began bigint NOT NULL,
        ended bigint,
        ended_at timestamptz,
        told smallint NOT NULL DEFAULT 0,
        tries integer NOT NULL DEFAULT 0,
        due_at timestamptz,
        PRIMARY KEY (task_id, since)
      )`);
    await runner.query('CREATE INDEX waits_by_begin ON waits (began)');
    await runner.query('CREATE INDEX waits_by_end ON waits (ended) WHERE ended IS NOT NULL');
    await runner.query('CREATE INDEX waits_that_last ON waits (task_id, since) WHERE ended IS NULL');
    await runner.query('CREATE INDEX waits_by_due ON waits (due_at) WHERE due_at IS NOT NULL');
    await runner.query(`ALTER TABLE push_configs ADD COLUMN extensions text[] NOT NULL DEFAULT '{}'`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE push_configs DROP COLUMN extensions');
    await runner.query('DROP TABLE waits');
    await runner.query('DROP SEQUENCE wait_numbers');
  }
}
