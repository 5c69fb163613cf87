import type { QueryRunner } from 'typeorm';
import type { Migration } from '../migration.js';

/**
 * Lists of tasks in one state, newest first, and their count, from an index alone: a state that few of a
 * caller's tasks are in would else be looked for among all of them. Made beside running replicas; one that a
 * broken off run left behind is made anew.
 */
export class TaskStates1764500000007 implements Migration {
  name = 'TaskStates1764500000007';
  readonly breaking = false;
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX CONCURRENTLY IF EXISTS tasks_by_state');
    await runner.query(
      `CREATE INDEX CONCURRENTLY tasks_by_state
        ON tasks (organisation, owner, agent, state, status_at DESC, id DESC) WHERE NOT direct`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX tasks_by_state');
  }
}
