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
/** What Postgres says while the remains of a killed one, or one that starts at the same time, are in the way. */
const IN_THE_WAY = /lock file|shared memory block|could not bind|starting up/;

/**
 * A real Postgres out of an npm package, for development and tests, so that nothing has to be installed.
 *
 *     start: running? --yes--> join it
 *              | no
 *            create the cluster once, start it; something in the way? look again
 *     stop:  nobody else connected? --> turn the server off
 *
 * Nobody owns the server: each process holds one idle connection while it uses it, and whoever finds no other
 * client when it leaves turns it off. So processes can share one folder, and a server that outlived a kill -9
 * is joined by the next start. It runs in a session of its own: a terminal's Ctrl-C does not reach it.
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
      return new EmbeddedPostgres(url, cluster, presence);
    } catch {
      return undefined;
    }
  }

  /** Where the data lies. */
  get folder(): string {
    return this.cluster.folder;
  }

  /** Leaves the server, and turns it off when nobody else uses it. Close all other connections before. */
  async stop(): Promise<void> {
    const others = `select from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid() limit 1`;
    const last = await this.presence.query(others).then(
      ({ rowCount }) => rowCount === 0,
      () => false,
    );
    await this.presence.end().catch(() => undefined);
    if (last) await this.cluster.stop();
  }
}
