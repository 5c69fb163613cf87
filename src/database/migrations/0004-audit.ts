import type { QueryRunner } from 'typeorm';
import type { Migration } from '../migration.js';

/** Who did what, for those who look into it later. Rows are only ever added. */
export class Audit1764500000004 implements Migration {
  name = 'Audit1764500000004';
  readonly breaking = false;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE audit_log (
        id bigserial PRIMARY KEY,
        at timestamptz(3) NOT NULL,
        act text NOT NULL,
        organisation text,
        subject text,
        details jsonb NOT NULL
      )`);
    await runner.query('CREATE INDEX audit_log_by_time ON audit_log (at)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE audit_log');
  }
}
