import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/index.js';

/** What is made where nothing is configured: enough for signed push on one machine. */
export interface LocalSecrets {
  readonly pushSecrets: string[];
  readonly pushKeys: string[];
}

/** The file with the secret that receivers verify with. */
export const secretFile = ({ dataDir }: Pick<Config, 'dataDir'>) => join(dataDir, 'push.secret');

/**
 * The configured secrets and keys, or those kept in the data folder, made on first use. For a service with its
 * embedded database only: what is in the folder has to last as long as what it encrypts.
 */
export function localSecrets(config: Pick<Config, 'dataDir' | 'pushSecrets' | 'pushKeys'>): LocalSecrets {
  const { pushSecrets, pushKeys, dataDir } = config;
  mkdirSync(dataDir, { recursive: true });
  const make = (prefix: string) => prefix + randomBytes(32).toString('base64');
  return {
    pushSecrets: pushSecrets.length > 0 ? pushSecrets : [kept(secretFile(config), () => make('whsec_'))],
    pushKeys: pushKeys.length > 0 ? pushKeys : [kept(join(dataDir, 'push.key'), () => make('local='))],
  };
}

/** Of several replicas that start together, the one that creates the file decides. */
function kept(file: string, make: () => string): string {
  try {
    writeFileSync(file, `${make()}\n`, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return readFileSync(file, 'utf8').trim();
}
