import type { QueryRunner } from 'typeorm';
import type { Migration } from '../migration.js';

/** How often a turn was handed over by a replica that went down: those runs do not count as crashes. */
export class Handovers1764500000010 implements Migration {
  name = 'Handovers1764500000010';
  readonly breaking = false;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE tasks ADD COLUMN handovers integer NOT NULL DEFAULT 0');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE tasks DROP COLUMN handovers');
  }
}
