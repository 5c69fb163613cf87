import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { postgresBinaries } from '../../dist/database/embedded.files.js';
import { EmbeddedPostgres } from '../../dist/database/index.js';
import { postgresAccount } from '../../dist/database/system.account.js';

const COMMITS = 200;

/**
 * The one Postgres of a run, with fsync on, for the service and for the SDK's store.
 * @param {{dir: string, url?: string}} given a folder for its data, or the address of a server to use
 */
export async function startCluster({ dir, url: ownUrl }) {
  const start = () => EmbeddedPostgres.start(join(dir, 'postgres'));
  let embedded = ownUrl ? undefined : await start();
  const url = ownUrl ?? embedded.url;
  let admin = await connect(url);
  let last = 0;
  return {
    /** Of the embedded server's first process, which is the parent of the others. */
    get pid() {
      return Number(readFileSync(join(embedded.folder, 'postmaster.pid'), 'utf8').split('\n')[0]);
    },
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
    /** Restarts the embedded server on its port: `fast` throws everybody out, `immediate` is a crash. */
    async restart(mode) {
      await restart(embedded.folder, mode);
      embedded = await start();
      admin = await connect(url);
    },
    async stop() {
      await admin.end();
      await embedded?.stop();
    },
  };
}

async function connect(url) {
  const client = new pg.Client({ connectionString: url });
  // A restart ends it, which its queries say themselves.
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/** Not execFile: the new server holds the pipes of pg_ctl open. */
async function restart(folder, mode) {
  const account = postgresAccount();
  const program = join(postgresBinaries(dirname(folder), account), 'bin/pg_ctl');
  const log = join(folder, 'server.log');
  const args = ['restart', `--mode=${mode}`, '--wait', `--pgdata=${folder}`, `--log=${log}`];
  const child = spawn(program, args, { cwd: folder, env: { LC_ALL: 'C' }, stdio: 'ignore', ...account });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`Postgres did not restart (${mode}); see ${log}`);
}
