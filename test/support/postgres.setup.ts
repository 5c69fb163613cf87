import { randomUUID } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { EmbeddedPostgres, migrate } from '../../src/database/index.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** The server of this run, and the migrated database on it that every test's database is a copy of. */
    postgres: { readonly url: string; readonly template: string };
  }
}

/** Data of a test need not survive a power cut. */
const FAST = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' };

/** One Postgres per run: an embedded one, or the server that PARLEY_TEST_DATABASE_URL names. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startServer();
  const template = `parley_template_${randomUUID().slice(0, 8)}`;
  await administer(server.url, `create database ${template}`);
  await migrate(databaseUrl(server.url, template));
  project.provide('postgres', { url: server.url, template });
  return async () => {
    await administer(server.url, `drop database ${template} with (force)`);
    await server.stop();
  };
}

async function startServer(): Promise<{ url: string; stop(): Promise<void> }> {
  const own = process.env.PARLEY_TEST_DATABASE_URL;
  if (own) return { url: own, stop: async () => undefined };
  const folder = mkdtempSync(join(tmpdir(), 'parley-test-'));
  // Postgres runs as another account when the tests run as root.
  chmodSync(folder, 0o755);
  const embedded = await EmbeddedPostgres.start(folder, FAST);
  const stop = async () => {
    await embedded.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  return { url: embedded.url, stop };
}

/** The same server, another database. */
export function databaseUrl(url: string, database: string): string {
  return Object.assign(new URL(url), { pathname: `/${database}` }).href;
}

export async function administer(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
