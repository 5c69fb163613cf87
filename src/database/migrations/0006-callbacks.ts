import type { QueryRunner } from 'typeorm';
import type { Migration } from '../migration.js';

/**
 * What agents that answer later have posted, numbered within each turn, and the secret that signs where to; and
 * the tasks that wait for somebody (INPUT_REQUIRED, AUTH_REQUIRED), in the order in which operators see them.
 */
export class Callbacks1764500000006 implements Migration {
  name = 'Callbacks1764500000006';
  readonly breaking = false;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE agent_callbacks (
        task_id uuid NOT NULL REFERENCES tasks ON DELETE CASCADE,
        turn bigint NOT NULL,
        n bigint NOT NULL,
        key text,
        events json NOT NULL,
        posted_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (task_id, turn, n),
        UNIQUE (task_id, turn, key)
      )`);
    await runner.query(`CREATE INDEX tasks_by_waiting ON tasks (status_at, id) WHERE state IN (6, 8)`);
    await runner.query(
      `INSERT INTO deployment_secrets VALUES ('callback', gen_random_uuid()::text || gen_random_uuid()::text)`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DELETE FROM deployment_secrets WHERE name = 'callback'`);
    await runner.query('DROP INDEX tasks_by_waiting');
    await runner.query('DROP TABLE agent_callbacks');
  }
}
