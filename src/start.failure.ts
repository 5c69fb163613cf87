import { resolve } from 'node:path';
import { InvalidCards } from './cards/index.js';
import { type Config, ConfigError } from './config/index.js';
import { BreakingMigrations, DatabaseUnavailable, databaseError } from './database/index.js';

/** Why the service did not start and what to do about it, for the person who started it. */
export function startFailure(error: unknown, config?: Config): string {
  if (error instanceof ConfigError || error instanceof InvalidCards) return error.message;
  const text = error instanceof Error ? (knownFailure(error, config) ?? error.stack) : String(error);
  return `Parley cannot start: ${text}`;
}

/** What a person can do something about, in words; undefined for anything else. */
export function knownFailure(error: Error, config?: Config): string | undefined {
  if (error instanceof BreakingMigrations) return error.message;
  if (config === undefined) return undefined;
  return folderFailure(error, config) ?? listenFailure(error, config) ?? databaseFailure(error, config);
}

/** What files answer: with a path, unlike a listener. */
function folderFailure(error: NodeJS.ErrnoException, { dataDir }: Config): string | undefined {
  const { code, path } = error;
  if (code === undefined || path === undefined || !resolve(path).startsWith(resolve(dataDir)))
    return undefined;
  return `the data folder cannot be used (${error.message}); correct PARLEY_DATA_DIR.`;
}

function listenFailure({ message }: Error, { host, httpPort, metricsPort }: Config): string | undefined {
  const [, kind, address] = /(EADDRINUSE|EADDRNOTAVAIL|EACCES)\b(?:.*? (\S+:\d+))?/.exec(message) ?? [];
  if (!kind) return undefined;
  if (kind === 'EADDRNOTAVAIL') return `this machine has no address ${host}; correct PARLEY_HOST.`;
  const port = Number(address?.split(':').at(-1));
  const others = port === metricsPort ? 'PARLEY_METRICS_PORT' : 'PARLEY_GRPC_PORT';
  const variable = port === httpPort ? 'PARLEY_HTTP_PORT' : others;
  return kind === 'EACCES'
    ? `${address} may not be used by this account; set ${variable} to a port above 1023.`
    : `${address} is taken; stop what uses it, or set ${variable} to another port (0 takes any free one).`;
}

/** SQLSTATE to what it means at start. */
const REFUSALS: Readonly<Record<string, string>> = {
  '28P01': 'refuses the password',
  '28000': 'refuses this user',
  '3D000': 'has no such database',
  '42501': 'does not let this user make tables',
};

function databaseFailure(error: Error, config: Config): string | undefined {
  if (!config.databaseUrl) return undefined;
  const { host, pathname } = new URL(config.databaseUrl);
  const code = 'code' in error ? String(error.code) : '';
  const refusal = REFUSALS[code];
  if (refusal)
    return `Postgres at ${host}${pathname} ${refusal} (${error.message}); correct PARLEY_DATABASE_URL.`;
  const unavailable = databaseError(error);
  if (!(unavailable instanceof DatabaseUnavailable)) return undefined;
  return `Postgres at ${host} cannot be reached (${code || error.message}); start it or correct PARLEY_DATABASE_URL. Without that setting Parley brings its own Postgres.`;
}
