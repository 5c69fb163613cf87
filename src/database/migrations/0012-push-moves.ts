import type { QueryRunner } from 'typeorm';
import type { Migration } from '../migration.js';

/**
 * `push_configs.moves` counts how often a config was given another place in the log than its reports told: redelivered,
 * or made anew. What is reported of a try from before says nothing of the new place. Replicas from before do not count;
 * the worst is what it was without: such a report takes the place back.
 */
export class PushMoves1764500000012 implements Migration {
  name = 'PushMoves1764500000012';
  readonly breaking = false;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE push_configs ADD COLUMN moves integer NOT NULL DEFAULT 0');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE push_configs DROP COLUMN moves');
  }
}
