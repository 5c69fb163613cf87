import type { QueryRunner } from 'typeorm';
import type { Migration } from '../migration.js';

/** What agents that answer later have posted, numbered within each task, and the secret that signs where to. */
export class Callbacks1764500000006 implements Migration {
  name = 'Callbacks1764500000006';
  readonly breaking = false;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE agent_callbacks (
        task_id uuid NOT NULL REFERENCES tasks ON DELETE CASCADE,
        n bigint NOT NULL,
        key text,
        events json NOT NULL,
        posted_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (task_id, n),
        UNIQUE (task_id, key)
      )`);
    await runner.query(
      `INSERT INTO deployment_secrets VALUES ('callback', gen_random_uuid()::text || gen_random_uuid()::text)`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DELETE FROM deployment_secrets WHERE name = 'callback'`);
    await runner.query('DROP TABLE agent_callbacks');
  }
}
