import { execFileSync, fork, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { cpus } from 'node:os';

/** USER_HZ, which is 100 on every Linux that Node runs on. */
const CLOCK_TICKS = 100;

/** Core 0 is the server's, core 1 has the load and Postgres. Without taskset and these two nobody is pinned. */
export const PINNED = [0, 1].every(canPinTo);

function canPinTo(core) {
  try {
    execFileSync('taskset', ['-c', String(core), 'true'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Moves this process to the load's core; whatever it starts from then on (load, Postgres) inherits that. */
export function pinToLoadCore() {
  if (PINNED) execFileSync('taskset', ['-a', '-p', '-c', '1', String(process.pid)], { stdio: 'ignore' });
}

/**
 * Starts `node ...args` on the server's core.
 * @param {string[]} args
 * @param {import('node:child_process').SpawnOptions} options
 */
export function spawnServer(args, options) {
  if (!PINNED) return spawn(process.execPath, args, options);
  return spawn('taskset', ['-c', '0', process.execPath, ...args], options);
}

/**
 * Runs one job in a fresh load process and gives its figures; rejects with the load's own words.
 * @param {{kind: 'send' | 'stream' | 'get' | 'post'} & Record<string, unknown>} job
 */
export function runLoad(job) {
  return new Promise((resolve, reject) => {
    const load = fork(new URL('./load/load.process.mjs', import.meta.url), { stdio: 'inherit' });
    load.once('message', ({ figures, fault }) => (figures ? resolve(figures) : reject(new Error(fault))));
    load.once('error', reject);
    load.once('exit', (code) => reject(new Error(`the load ended with code ${code}`)));
    load.send(job);
  });
}

/** CPU seconds (user and system, all threads) that a process has used; NaN where /proc does not exist. */
export function cpuSeconds(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS;
  } catch {
    return Number.NaN;
  }
}

/** The same of a process and its children, those that have ended too. */
export function familyCpuSeconds(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const ended = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(13, 15)
      .map(Number);
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
    const seconds = [pid, ...children].map(cpuSeconds).filter((each) => !Number.isNaN(each));
    return [...ended.map((ticks) => ticks / CLOCK_TICKS), ...seconds].reduce((sum, each) => sum + each, 0);
  } catch {
    return Number.NaN;
  }
}

/** CPU seconds that the server's core was taken, by whomever, also beside this virtual machine; NaN unpinned. */
export function serverCoreSeconds() {
  return PINNED ? coreSeconds(/^cpu0 .*$/m) : Number.NaN;
}

/** The same of all cores together; NaN where /proc does not exist. */
export function allCoresSeconds() {
  return existsSync('/proc/stat') ? coreSeconds(/^cpu .*$/m) : Number.NaN;
}

function coreSeconds(line) {
  const [, user, nice, system, , , irq, softirq, steal] = line
    .exec(readFileSync('/proc/stat', 'utf8'))[0]
    .split(/ +/)
    .map(Number);
  return (user + nice + system + irq + softirq + steal) / CLOCK_TICKS;
}

export function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

export function describeMachine() {
  const [cpu] = cpus();
  return {
    cpu: cpu?.model.trim() ?? 'unknown',
    cores: cpus().length,
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    pinned: PINNED,
  };
}
