import { setTimeout as delay } from 'node:timers/promises';

const LOOK_MS = 50;

/** How often each fault comes about. */
const WEIGHTS = { kill: 26, stop: 6, pause: 4, postgresFast: 1, postgresCrash: 1 };

/**
 * Does harm to replicas and their Postgres, at random but in the order that the seed gives. The last replica
 * that is up is spared: the next fault waits for a second one.
 *
 *   kill    SIGKILL, started again after up to half a second
 *   stop    SIGTERM, started again once it has ended by itself
 *   pause   SIGSTOP for longer than a lease, so that it comes back when others have its turns
 *   postgresFast, postgresCrash   a restart that throws everybody out, or that recovers from a crash
 */
export class Faults {
  /** @type {Record<string, number>} */
  counts = Object.fromEntries(Object.keys(WEIGHTS).map((name) => [name, 0]));
  /** What was done when, in milliseconds since the epoch. @type {{fault: string, at: number}[]} */
  done = [];
  #pending = new Set();
  #restarting = false;

  /**
   * @param {{random: import('./seeded.random.mjs').SeededRandom, replicas: import('./replica.mjs').Replica[],
   *   restartPostgres?: (mode: 'fast' | 'immediate') => Promise<void>, leaseMs: number, everyMs: number,
   *   stopMs: number, say: (text: string) => void}} given `everyMs` is the mean between two faults, `stopMs`
   *   what a way down may take; without `restartPostgres` Postgres is left alone
   */
  constructor(given) {
    Object.assign(this, given);
  }

  /** Goes on until the time and heals what it broke. @param {number} end of performance.now() */
  async run(end) {
    const weights = this.restartPostgres ? WEIGHTS : { ...WEIGHTS, postgresFast: 0, postgresCrash: 0 };
    for (;;) {
      const pause = -Math.log(1 - this.random.next()) * this.everyMs;
      if (performance.now() + pause > end) break;
      await delay(pause);
      const fault = this.random.weighted(weights);
      const share = this.random.next();
      while (this.#up.length < 2 && performance.now() < end) await delay(LOOK_MS);
      if (this.#up.length > 1) this.#begin(fault, this.random.pick(this.#up), share);
    }
    await Promise.all(this.#pending);
  }

  get #up() {
    return this.replicas.filter(({ state }) => state === 'up');
  }

  #begin(fault, replica, share) {
    if (fault.startsWith('postgres') && this.#restarting) return;
    this.counts[fault] += 1;
    this.done.push({ fault, at: Date.now() });
    this.say(`${fault} ${fault.startsWith('postgres') ? '' : replica.name}`.trim());
    const work = this[`_${fault}`](replica, share);
    this.#pending.add(work);
    work.finally(() => this.#pending.delete(work)).catch(() => undefined);
  }

  async _kill(replica, share) {
    await replica.kill();
    await delay(share * 500);
    await replica.launch();
  }

  async _stop(replica) {
    await replica.stop(this.stopMs);
    await replica.launch();
  }

  async _pause(replica, share) {
    replica.pause();
    await delay(this.leaseMs * (1.2 + share));
    replica.resume();
  }

  _postgresFast() {
    return this.#restart('fast');
  }

  _postgresCrash() {
    return this.#restart('immediate');
  }

  async #restart(mode) {
    this.#restarting = true;
    await this.restartPostgres(mode).finally(() => {
      this.#restarting = false;
    });
  }
}
