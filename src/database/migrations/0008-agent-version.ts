import type { QueryRunner } from 'typeorm';
import type { Migration } from '../migration.js';

/** The version of its agent that a task stays with. Tasks of before have none and go on with the current one. */
export class AgentVersion1764500000008 implements Migration {
  name = 'AgentVersion1764500000008';
  readonly breaking = false;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE tasks ADD COLUMN agent_version text');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE tasks DROP COLUMN agent_version');
  }
}
