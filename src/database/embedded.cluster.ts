import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { giveTo, moveInto, postgresBinaries, reachableFolder } from './embedded.files.js';
import { postgresAccount } from './system.account.js';

export type ServerSettings = Readonly<Record<string, string>>;

/** The files and programs of one embedded Postgres. */
export class EmbeddedCluster {
  /** Where the data lies; differs from the folder asked for where Postgres cannot reach that. */
  readonly folder: string;
  private readonly account = postgresAccount();
  private readonly binaries: string;
  private readonly log: string;

  constructor(dataDir: string) {
    const home = reachableFolder(resolve(dataDir), this.account);
    this.folder = join(home, 'postgres');
    this.log = join(this.folder, 'server.log');
    this.binaries = postgresBinaries(home, this.account);
  }

  /** The URL of the server as its pid file says it, which may be a remnant of a dead one. */
  get url(): string | undefined {
    try {
      const port = readFileSync(join(this.folder, 'postmaster.pid'), 'utf8').split('\n')[3];
      const password = readFileSync(join(this.folder, 'parley.password'), 'utf8');
      return port ? `postgres://postgres:${password}@127.0.0.1:${port}/postgres` : undefined;
    } catch {
      return undefined;
    }
  }

  /**
   * Makes the cluster if there is none. It is built beside its place and then moved, so that a crash leaves
   * nothing half made and of several processes one wins. A password keeps the machine's other users out.
   */
  async create(): Promise<void> {
    if (existsSync(this.folder)) return;
    const workshop = mkdtempSync(`${this.folder}.init-`);
    const password = join(workshop, 'password');
    const data = join(workshop, 'data');
    writeFileSync(password, randomBytes(18).toString('base64url'), { mode: 0o600 });
    giveTo(this.account, workshop);
    const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
    const access = ['--username=postgres', `--pwfile=${password}`, '--auth=scram-sha-256'];
    const { ok, output } = await this.run(
      'initdb',
      [`--pgdata=${data}`, '--no-sync', ...locale, ...access],
      workshop,
    );
    if (!ok) throw new Error(`The embedded Postgres cannot be set up in ${this.folder}:\n${output}`);
    renameSync(password, join(data, 'parley.password'));
    moveInto(data, this.folder);
    rmSync(workshop, { recursive: true, force: true });
  }

  /** Starts the server on a free port. Answers with its complaint when it does not come up. */
  async start(settings: ServerSettings): Promise<string | undefined> {
    const before = this.readLog().length;
    const port = await freePort();
    const options = Object.entries({ ...settings, port: String(port) }).map(
      ([name, value]) => `-c ${name}=${value}`,
    );
    const { ok, output } = await this.control('start', `--log=${this.log}`, `--options=${options.join(' ')}`);
    return ok ? undefined : `${output}${this.readLog().slice(before)}`.trim().slice(-2000);
  }

  /** Disconnects whoever is left, and waits until the server has ended. */
  async stop(): Promise<void> {
    await this.control('stop', '--mode=fast');
  }

  private control(action: string, ...args: string[]) {
    return this.run(
      'pg_ctl',
      [action, `--pgdata=${this.folder}`, '--wait', '--timeout=60', ...args],
      this.folder,
    );
  }

  private readLog(): string {
    try {
      return readFileSync(this.log, 'utf8');
    } catch {
      return '';
    }
  }

  private run(program: string, args: string[], cwd: string): Promise<{ ok: boolean; output: string }> {
    return new Promise((resolve, reject) => {
      // Neither PG* variables nor the locale of the caller may change what the programs do.
      const env = { LC_ALL: 'C' };
      const child = spawn(join(this.binaries, 'bin', program), args, { cwd, env, ...this.account });
      let output = '';
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
      child.on('error', reject);
      // Not 'close': the server that pg_ctl leaves behind may keep the pipes open.
      child.on('exit', (code) => resolve({ ok: code === 0, output }));
    });
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.on('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as AddressInfo;
      probe.close(() => resolve(port));
    });
  });
}
