import { join } from 'node:path';
import pg from 'pg';
import { EmbeddedPostgres } from '../../dist/database/index.js';

const COMMITS = 200;

/**
 * The one Postgres of a run, with fsync on, for the service and for the SDK's store.
 * @param {{dir: string, url?: string}} given a folder for its data, or the address of a server to use
 */
export async function startCluster({ dir, url: ownUrl }) {
  const embedded = ownUrl ? undefined : await EmbeddedPostgres.start(join(dir, 'postgres'));
  const url = ownUrl ?? embedded.url;
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  let last = 0;
  return {
    /** An empty database; resolves with its address. */
    async createDatabase() {
      last += 1;
      const name = `bench_${process.pid}_${last}`;
      await admin.query(`create database ${name}`);
      const address = new URL(url);
      address.pathname = `/${name}`;
      return address.href;
    },
    async dropDatabase(address) {
      await admin.query(`drop database ${new URL(address).pathname.slice(1)} with (force)`);
    },
    /** Writes dirty pages now, so that no case pays for the one before it. */
    async settle() {
      await admin.query('checkpoint');
    },
    /** Milliseconds that one row and its commit take with nothing else going on. */
    async commitMs() {
      await admin.query('create table if not exists bench_commits (n int)');
      const start = performance.now();
      for (let n = 0; n < COMMITS; n += 1) await admin.query('insert into bench_commits values ($1)', [n]);
      const ms = (performance.now() - start) / COMMITS;
      await admin.query('drop table bench_commits');
      return ms;
    },
    async stop() {
      await admin.end();
      await embedded?.stop();
    },
  };
}
