import type { QueryRunner } from 'typeorm';
import type { Migration } from '../migration.js';

/**
 * Operators read the deliveries of a host, and those that are dead, in the order of the primary key, which is that of the
 * tasks: a page costs what it shows. What was deleted is found without looking at the rest, to be cleared away. Made
 * beside running replicas; what a broken off run left behind is made anew.
 */
export class PushDeliveries1764500000013 implements Migration {
  name = 'PushDeliveries1764500000013';
  readonly breaking = false;
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    for (const [name, columns] of INDEXES) {
      await runner.query(`DROP INDEX CONCURRENTLY IF EXISTS ${name}`);
      await runner.query(`CREATE INDEX CONCURRENTLY ${name} ON push_configs ${columns}`);
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const [name] of INDEXES) await runner.query(`DROP INDEX ${name}`);
    await runner.query('CREATE INDEX push_configs_by_host ON push_configs (host, state)');
  }
}

const INDEXES = [
  ['push_configs_by_host', '(host, task_id, id)'],
  ['push_configs_dead', `(task_id, id) WHERE state = 'dead'`],
  ['push_configs_dead_by_host', `(host, task_id, id) WHERE state = 'dead'`],
  ['push_configs_deleted', `(task_id, id) WHERE state = 'deleted'`],
] as const;
