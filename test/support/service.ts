import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createDatabase, type TestDatabase } from './postgres.js';

export interface RunningService {
  /** Base URL of HTTP. */
  readonly httpUrl: string;
  /** `host:port` of gRPC. */
  readonly grpcAddress: string;
  readonly pid: number;
  /** Its log records so far, as JSON lines, and what it wrote to standard error. */
  readonly output: () => string;
  /** The exit code, once it has ended. */
  readonly ended: Promise<number | null>;
  /** SIGTERM. Resolves with the exit code; drops the database that was made for this service. */
  stop(): Promise<number | null>;
  /** SIGKILL. The database stays, for the next service to find; drop it by `stop` or by its own `drop`. */
  kill(): Promise<void>;
}

export interface ServiceOptions {
  /** Settings beside free ports, a data folder of its own and JSON logs. With a database URL (an empty one for the embedded Postgres) no database is made. */
  readonly env?: Readonly<Record<string, string>>;
  /** Shared by several services, or by one before and after a crash; a new one otherwise. */
  readonly database?: TestDatabase;
  /** Folder of another build of the service. */
  readonly root?: string;
}

const ROOT = new URL('../..', import.meta.url).pathname;

/** Starts the built service as a process of its own and waits until it is ready. Rejects with what it said. */
export async function startService({
  env = {},
  database,
  root = ROOT,
}: ServiceOptions = {}): Promise<RunningService> {
  const own = database || 'PARLEY_DATABASE_URL' in env ? undefined : await createDatabase();
  const folder = mkdtempSync(join(tmpdir(), 'parley-service-'));
  const settings = {
    PATH: process.env.PATH,
    PARLEY_HTTP_PORT: '0',
    PARLEY_GRPC_PORT: '0',
    PARLEY_DATA_DIR: folder,
    PARLEY_DATABASE_URL: (database ?? own)?.url,
    PARLEY_LOG_FORMAT: 'json',
    ...env,
  };
  const child = spawn(process.execPath, [join(root, 'dist/main.js')], { env: settings });
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const clean = () => rmSync(folder, { recursive: true, force: true });
  const { ready, output } = listen(child);
  const where = await Promise.race([ready, ended]);
  if (where === null || typeof where === 'number') {
    clean();
    await own?.drop();
    throw new Error(`The service ended with ${where} before it was ready:\n${output()}`);
  }
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    const code = await ended;
    clean();
    return code;
  };
  return {
    ...where,
    pid: child.pid ?? 0,
    output,
    ended,
    stop: async () => {
      const code = await end('SIGTERM');
      await own?.drop();
      return code;
    },
    kill: async () => {
      await end('SIGKILL');
    },
  };
}

interface Ready {
  readonly httpUrl: string;
  readonly grpcAddress: string;
}

function listen(child: ChildProcess): { ready: Promise<Ready>; output: () => string } {
  const lines: string[] = [];
  const ready = new Promise<Ready>((resolve) => {
    createInterface({ input: child.stdout! }).on('line', (line) => {
      lines.push(line);
      if (!line.includes('"Parley is ready"')) return;
      const { httpUrl, grpcAddress } = JSON.parse(line) as Ready;
      resolve({ httpUrl, grpcAddress });
    });
  });
  createInterface({ input: child.stderr! }).on('line', (line) => lines.push(line));
  return { ready, output: () => lines.join('\n') };
}
