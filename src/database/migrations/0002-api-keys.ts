import type { QueryRunner } from 'typeorm';
import type { Migration } from '../migration.js';

/** API keys: hashes of secrets, whom they stand for and what they allow. Null `agents` means all. */
export class ApiKeys1764500000002 implements Migration {
  name = 'ApiKeys1764500000002';
  readonly breaking = false;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE api_keys (
        id text PRIMARY KEY,
        hash bytea NOT NULL,
        name text NOT NULL,
        organisation text NOT NULL,
        subject text NOT NULL,
        scopes text[] NOT NULL,
        agents text[],
        acts_for_others boolean NOT NULL DEFAULT false,
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        expires_at timestamptz(3),
        revoked_at timestamptz(3)
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE api_keys');
  }
}
