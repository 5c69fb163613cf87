import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { EmbeddedCluster, type ServerSettings } from './embedded.cluster.js';

const SETTINGS: ServerSettings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: "''",
  max_connections: '200',
  log_checkpoints: 'off',
};
const ATTEMPTS = 40;
const PAUSE_MS = 250;
/** An arbitrary number for the lock of those who use the server. */
const LOCK = 7_292_540;
/** What Postgres says while the remains of a killed one, or one that starts at the same time, are in the way. */
const IN_THE_WAY = /lock file|shared memory block|could not bind|starting up/;

/**
 * A real Postgres out of an npm package, for development and tests, so that nothing has to be installed.
 *
 *     start: running? --yes--> join it: take the lock, shared
 *              | no
 *            create the cluster once, start it; something in the way? look again
 *     stop:  give the shared lock back; is it free now? --> take it alone, turn the server off
 *
 * Nobody owns the server: each process that uses it holds the lock on a connection of its own, and whoever
 * finds it free when it leaves turns the server off. So processes can share one folder, and a server that
 * outlived a kill -9 is joined by the next start. It runs in a session of its own: a terminal's Ctrl-C does not
 * reach it.
 */
export class EmbeddedPostgres {
  private constructor(
    readonly url: string,
    private readonly cluster: EmbeddedCluster,
    private readonly presence: pg.Client,
  ) {}

  /**
   * @param dataDir where the data is kept
   * @throws Error with the server's own words when it does not come up
   */
  static async start(dataDir: string, settings: ServerSettings = {}): Promise<EmbeddedPostgres> {
    const cluster = new EmbeddedCluster(dataDir);
    await cluster.create();
    for (let attempt = 1; ; attempt++) {
      const joined = await EmbeddedPostgres.join(cluster);
      if (joined) return joined;
      const complaint = await cluster.start({ ...SETTINGS, ...settings });
      if (complaint === undefined) continue;
      if (attempt >= ATTEMPTS || !IN_THE_WAY.test(complaint)) {
        throw new Error(`The embedded Postgres in ${cluster.folder} does not start:\n${complaint}`);
      }
      await delay(PAUSE_MS);
    }
  }

  private static async join(cluster: EmbeddedCluster): Promise<EmbeddedPostgres | undefined> {
    const url = cluster.url;
    if (!url) return undefined;
    const presence = new pg.Client({
      connectionString: url,
      application_name: 'parley presence',
      keepAlive: true,
      // After a crash a stranger may sit on the port of the pid file.
      connectionTimeoutMillis: 2_000,
    });
    // A server that goes away is noticed by those who use it.
    presence.on('error', () => undefined);
    try {
      await presence.connect();
      // Waits while somebody turns the server off, and fails when that is done.
      await presence.query('select pg_advisory_lock_shared($1)', [LOCK]);
      return new EmbeddedPostgres(url, cluster, presence);
    } catch {
      return undefined;
    }
  }

  /** Where the data lies. */
  get folder(): string {
    return this.cluster.folder;
  }

  /** Leaves the server, and turns it off when no other process uses it. */
  async stop(): Promise<void> {
    const last = await this.leave().catch(() => false);
    if (last) await this.cluster.stop();
    await this.presence.end().catch(() => undefined);
  }

  /** Answers whether the server is now this process's alone, and closed to newcomers. */
  private async leave(): Promise<boolean> {
    await this.presence.query('select pg_advisory_unlock_shared($1)', [LOCK]);
    const { rows } = await this.presence.query('select pg_try_advisory_lock($1) as alone', [LOCK]);
    return rows[0].alone;
  }
}
