import { readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** A user of the machine, as child processes take it. */
export interface SystemAccount {
  readonly uid: number;
  readonly gid: number;
}

/**
 * The account that Postgres has to run as: it refuses to run as root, so root hands over to `postgres`, else to
 * `nobody`, which every system has. Undefined where the own account will do.
 */
export function postgresAccount(): SystemAccount | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const accounts = readFileSync('/etc/passwd', 'utf8').split('\n');
  const line = ['postgres:', 'nobody:']
    .map((name) => accounts.find((row) => row.startsWith(name)))
    .find(Boolean);
  const [, , uid, gid] = (line ?? '').split(':');
  if (!uid || !gid)
    throw new Error('/etc/passwd names neither "postgres" nor "nobody"; set PARLEY_DATABASE_URL');
  return { uid: Number(uid), gid: Number(gid) };
}

/** Whether the account may enter the folder and all folders above it. */
export function isOpenTo(account: SystemAccount | undefined, folder: string): boolean {
  if (!account) return true;
  const { uid, gid, mode } = statSync(folder);
  const bits = uid === account.uid ? mode >> 6 : gid === account.gid ? mode >> 3 : mode;
  const above = dirname(folder);
  return (bits & 0o1) === 0o1 && (above === folder || isOpenTo(account, above));
}
