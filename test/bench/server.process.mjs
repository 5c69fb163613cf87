import { openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { spawnServer } from './machine.mjs';

const START_MS = 60_000;
const STOP_MS = 15_000;

/**
 * A server as a process of its own.
 * @typedef {object} ServerProcess
 * @property {number} pid
 * @property {Promise<number | string>} gone how it ended: its exit code, or the signal
 * @property {(name: NodeJS.Signals) => void} signal
 * @property {(ready: () => Promise<unknown>) => Promise<void>} until resolves once `ready` gives something true;
 *   rejects with the log's end when the server has gone before, or in a minute
 * @property {() => Promise<void>} stop SIGTERM, after 15 s SIGKILL
 */

/**
 * Starts node, by default on the server's core; what it prints is added to a file.
 * @param {string[]} args
 * @param {{dir: string, settings?: Record<string, unknown>, log?: string, spawn?: typeof spawnServer}} how
 *   `dir` is where it runs and logs, `settings` are variables beside this process's own
 * @returns {ServerProcess}
 */
export function startServer(args, { dir, settings = {}, log = 'server.log', spawn = spawnServer }) {
  const file = join(dir, log);
  const out = openSync(file, 'a');
  const env = { ...process.env, NODE_ENV: 'production', ...settings };
  const child = spawn(args, { cwd: dir, env, stdio: ['ignore', out, out] });
  let ended = false;
  const gone = new Promise((resolve) => child.once('exit', (code, signal) => resolve(code ?? signal)));
  gone.then(() => {
    ended = true;
  });
  return {
    pid: child.pid,
    gone,
    signal: (name) => child.kill(name),
    async until(ready) {
      const end = Date.now() + START_MS;
      while (!(await ready().then(Boolean, () => false))) {
        if (ended || Date.now() > end) {
          child.kill('SIGKILL');
          throw new Error(`${args.join(' ')} did not start:\n${readFileSync(file, 'utf8').slice(-2_000)}`);
        }
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    },
    async stop() {
      const force = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
      child.kill('SIGTERM');
      await gone;
      clearTimeout(force);
    },
  };
}
