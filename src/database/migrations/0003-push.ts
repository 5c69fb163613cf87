import type { QueryRunner } from 'typeorm';
import type { Migration } from '../migration.js';

/**
 * Push configs with their place in the log, hosts that an operator paused, and the order in which tasks
 * changed.
 *
 * `push_configs.cursor` is the last event that was delivered or passed over. `due_at` is `infinity` while
 * nothing is known to wait. `tasks.push` tells a commit that somebody is to be woken. `tasks.changed` is the
 * transaction of the last status change: a reader that keeps behind the oldest running transaction misses none.
 */
export class Push1764500000003 implements Migration {
  name = 'Push1764500000003';
  readonly breaking = false;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE tasks
        ADD COLUMN push boolean NOT NULL DEFAULT false,
        ADD COLUMN changed bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint`);
    await runner.query(
      `CREATE INDEX tasks_by_change ON tasks (organisation, owner, agent, changed, id) WHERE NOT direct`,
    );
    await runner.query(`
      CREATE TABLE push_configs (
        task_id uuid NOT NULL REFERENCES tasks ON DELETE CASCADE,
        id text NOT NULL,
        url text NOT NULL,
        host text NOT NULL,
        secret text,
        version text NOT NULL,
        cursor bigint NOT NULL,
        state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'done', 'dead', 'deleted')),
        due_at timestamptz NOT NULL DEFAULT 'infinity',
        claim uuid,
        claimed_until timestamptz,
        tries integer NOT NULL DEFAULT 0,
        sent bigint NOT NULL DEFAULT 0,
        last_status integer,
        last_error text,
        last_ms integer,
        tried_at timestamptz,
        created_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (task_id, id)
      ) WITH (fillfactor = 80)`);
    await runner.query(`CREATE INDEX push_configs_by_due ON push_configs (due_at) WHERE state = 'open'`);
    await runner.query(`CREATE INDEX push_configs_by_host ON push_configs (host, state)`);
    await runner.query(`
      CREATE TABLE push_pauses (host text PRIMARY KEY, paused_at timestamptz NOT NULL DEFAULT now())`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE push_pauses, push_configs');
    await runner.query('ALTER TABLE tasks DROP COLUMN push, DROP COLUMN changed');
  }
}
