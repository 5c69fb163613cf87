import type { QueryRunner } from 'typeorm';
import type { Migration } from '../migration.js';

/**
 * Receivers that keep failing are paused for all replicas: `until` is when the next probe may go out, null where an
 * operator has paused the host. Replicas from before take both for an operator's pause, which is right until the probe.
 */
export class PushCircuit1764500000011 implements Migration {
  name = 'PushCircuit1764500000011';
  readonly breaking = false;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE push_pauses
        ADD COLUMN until timestamptz,
        ADD COLUMN failures integer NOT NULL DEFAULT 0`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DELETE FROM push_pauses WHERE until IS NOT NULL');
    await runner.query('ALTER TABLE push_pauses DROP COLUMN until, DROP COLUMN failures');
  }
}
