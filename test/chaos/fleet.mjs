import { setTimeout as delay } from 'node:timers/promises';

const LOOK_MS = 50;

/** The replicas behind one address, as a load balancer sees them. */
export class Fleet {
  /** @param {{name: string, open: boolean, callers: import('./callers/caller.mjs').Caller[]}[]} replicas */
  constructor(replicas) {
    this.replicas = replicas;
  }

  /**
   * A caller of a replica that is open; waits for one.
   * @param {import('./seeded.random.mjs').SeededRandom} random
   * @returns {Promise<import('./callers/caller.mjs').Caller>}
   */
  async pick(random) {
    for (;;) {
      const open = this.replicas.filter((replica) => replica.open);
      if (open.length > 0) return random.pick(random.pick(open).callers);
      await delay(LOOK_MS);
    }
  }
}
