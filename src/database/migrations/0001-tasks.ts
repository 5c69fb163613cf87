import type { QueryRunner } from 'typeorm';
import type { Migration } from '../migration.js';

/**
 * Tasks and their log.
 *
 * `task_events` is append only and has no foreign key: the check would lock the task's row for every event;
 * whoever removes a task removes its events. `json` keeps the text that the readers are sent; jsonb would
 * parse and rewrite it. `lease_until` is null exactly when no turn runs, so the partial index holds running
 * turns alone. The fill factors leave room for a running task's updates beside the row (HOT).
 */
export class Tasks1764500000001 implements Migration {
  name = 'Tasks1764500000001';
  readonly breaking = false;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE tasks (
        id uuid PRIMARY KEY,
        organisation text NOT NULL,
        owner text NOT NULL,
        agent text NOT NULL,
        context_id text NOT NULL,
        direct boolean NOT NULL DEFAULT false,
        state smallint NOT NULL,
        status_at timestamptz(3) NOT NULL,
        version bigint NOT NULL,
        snapshot json,
        snapshot_seq bigint NOT NULL DEFAULT 0,
        inbox_seq bigint NOT NULL,
        read_seq bigint NOT NULL DEFAULT 0,
        lease_holder text,
        lease_token bigint NOT NULL,
        lease_writes bigint NOT NULL DEFAULT 0,
        lease_until timestamptz,
        attempt integer NOT NULL DEFAULT 1,
        cancel_requested_at timestamptz,
        created_at timestamptz NOT NULL DEFAULT now(),
        expires_at timestamptz
      ) WITH (fillfactor = 70)`);
    await runner.query(
      `CREATE INDEX tasks_by_status ON tasks (organisation, owner, agent, status_at DESC, id DESC) WHERE NOT direct`,
    );
    await runner.query(
      `CREATE INDEX tasks_by_context ON tasks (context_id, organisation, owner, agent) WHERE NOT direct`,
    );
    await runner.query(`CREATE INDEX tasks_by_lease ON tasks (lease_until) WHERE lease_until IS NOT NULL`);
    await runner.query(`
      CREATE TABLE task_events (
        task_id uuid NOT NULL,
        seq bigint NOT NULL,
        payload json NOT NULL,
        request json,
        message_key uuid,
        message_hash uuid,
        recorded_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (task_id, seq)
      )`);
    await runner.query(
      `CREATE UNIQUE INDEX task_events_by_message ON task_events (message_key) WHERE message_key IS NOT NULL`,
    );
    await runner.query(`CREATE TABLE deployment_secrets (name text PRIMARY KEY, value text NOT NULL)`);
    await runner.query(
      `INSERT INTO deployment_secrets VALUES ('page-token', gen_random_uuid()::text || gen_random_uuid()::text)`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE deployment_secrets, task_events, tasks');
  }
}
