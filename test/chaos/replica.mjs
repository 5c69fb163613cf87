import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { freePort } from '../bench/machine.mjs';
import { startServer } from '../bench/server.process.mjs';
import { callersOf } from './callers/caller.mjs';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const STARTS = 20;

/**
 * One replica of the service on ports of its own, which it keeps through restarts.
 *
 *   down --launch--> up --kill, stop--> down
 *                    up --pause--> paused --resume--> up   (nobody but us knows that it is paused)
 */
export class Replica {
  /** @type {'up' | 'paused' | 'down'} */
  state = 'down';
  /** @type {import('./callers/caller.mjs').Caller[]} */
  callers = [];
  /** Ends that nobody asked for, and ways down that were not clean. @type {string[]} */
  accidents = [];
  #process;
  #retired = false;

  /**
   * @param {{name: string, dir: string, settings: Record<string, unknown>, client: object, node?: string[]}} given
   *   `node` has arguments for node beside the usual ones
   */
  constructor({ name, dir, settings, client, node = [] }) {
    this.name = name;
    this.given = { dir, settings, client, node };
  }

  /** Whether a load balancer sends it calls. */
  get open() {
    return this.state !== 'down';
  }

  get pid() {
    return this.#process?.pid;
  }

  /** Starts it until it stays: without a database it ends, and whatever runs replicas starts them again. */
  async launch() {
    this.ports ??= { PARLEY_HTTP_PORT: await freePort(), PARLEY_GRPC_PORT: await freePort() };
    this.url = `http://127.0.0.1:${this.ports.PARLEY_HTTP_PORT}`;
    for (let start = 1; ; start += 1) {
      try {
        await this.#start();
        break;
      } catch (error) {
        if (start === STARTS || this.#retired) throw error;
      }
    }
    if (this.callers.length === 0) this.callers = await callersOf(this.url, this.given.client);
    this.state = 'up';
  }

  async kill() {
    const process = this.#leave();
    process.signal('SIGKILL');
    await process.gone;
  }

  /** SIGTERM. It has to end by itself, and well. */
  async stop(withinMs) {
    const process = this.#leave();
    const late = setTimeout(() => process.signal('SIGKILL'), withinMs);
    process.signal('SIGTERM');
    const end = await process.gone;
    clearTimeout(late);
    if (end === 'SIGKILL') this.accidents.push(`${this.name} was still there ${withinMs} ms after SIGTERM`);
    else if (end !== 0) this.accidents.push(`${this.name} ended with ${end} after SIGTERM`);
  }

  pause() {
    this.state = 'paused';
    this.#process.signal('SIGSTOP');
  }

  resume() {
    this.state = 'up';
    this.#process.signal('SIGCONT');
  }

  /** Whatever it is at: it is gone after this, and does not come back. */
  async retire() {
    this.#retired = true;
    if (this.#process) await this.kill();
    for (const caller of this.callers) caller.close();
  }

  async #start() {
    const { dir, settings, node } = this.given;
    const started = startServer(['--enable-source-maps', ...node, MAIN], {
      dir,
      log: `${this.name}.log`,
      settings: { ...settings, ...this.ports },
      spawn: (args, options) => spawn(process.execPath, args, options),
    });
    this.#process = started;
    await started.until(async () => (await fetch(`${this.url}/health/live`)).ok);
    started.gone.then((end) => {
      if (this.#process !== started) return;
      this.accidents.push(`${this.name} ended by itself with ${end}`);
      this.state = 'down';
    });
  }

  /** The process, from now on expected to end. */
  #leave() {
    const process = this.#process;
    this.state = 'down';
    this.#process = undefined;
    return process;
  }
}
