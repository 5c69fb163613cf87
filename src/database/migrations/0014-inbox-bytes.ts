import type { QueryRunner } from 'typeorm';
import type { Migration } from '../migration.js';

/** What deliveries to a task come to, in bytes: its row is locked by each, so that they are counted exactly. */
export class InboxBytes1764500000014 implements Migration {
  name = 'InboxBytes1764500000014';
  readonly breaking = false;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE tasks ADD COLUMN inbox_bytes bigint NOT NULL DEFAULT 0');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE tasks DROP COLUMN inbox_bytes');
  }
}
