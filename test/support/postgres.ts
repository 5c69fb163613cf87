import { randomUUID } from 'node:crypto';
import { inject } from 'vitest';
import { administer, databaseUrl } from './postgres.setup.js';

export interface TestDatabase {
  readonly url: string;
  /** Throws whoever is still connected out. */
  drop(): Promise<void>;
}

/** A migrated, empty database of its own. */
export async function createDatabase(): Promise<TestDatabase> {
  const { url, template } = inject('postgres');
  const name = `parley_test_${randomUUID().replaceAll('-', '')}`;
  await administer(url, `create database ${name} template ${template}`);
  return {
    url: databaseUrl(url, name),
    drop: () => administer(url, `drop database if exists ${name} with (force)`),
  };
}
