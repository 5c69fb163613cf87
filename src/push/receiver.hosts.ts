/** Failures in a row, with nothing between them, that pause a host. */
export const FAILURES_TO_PAUSE = 20;
/** Room that every host keeps, however many there are. */
const LEAST_ROOM = 4;

interface Host {
  inFlight: number;
  failures: number;
}

/**
 * What this replica knows of the hosts it posts to, so that a slow or dead one holds up nobody else. No host may have
 * more pushes in flight than its share of all of them. One that keeps failing is paused for all replicas:
 *
 *   open --20 failures in a row at one replica--> paused --after 5 s, doubling to 20 s--> probed by one push
 *     ^------------------------------------- the probe succeeds -------------------------------'
 */
export class ReceiverHosts {
  readonly #hosts = new Map<string, Host>();

  constructor(private readonly concurrency: number) {}

  /** Pushes that one host may have in flight right now. */
  get share(): number {
    const share = Math.floor(this.concurrency / (this.#hosts.size + 1));
    return Math.max(LEAST_ROOM, Math.min(share, Math.ceil(this.concurrency / 2)));
  }

  /** How many more pushes each known host may have. */
  rooms(): Map<string, number> {
    return new Map([...this.#hosts].map(([name, host]) => [name, this.share - host.inFlight]));
  }

  enter(name: string): void {
    this.#host(name).inFlight++;
  }

  leave(name: string): void {
    const host = this.#host(name);
    if (--host.inFlight === 0 && host.failures === 0) this.#hosts.delete(name);
  }

  succeeded(name: string): void {
    this.#host(name).failures = 0;
  }

  /** True when this is one failure too many. */
  failed(name: string): boolean {
    const host = this.#host(name);
    host.failures = (host.failures + 1) % FAILURES_TO_PAUSE;
    return host.failures === 0;
  }

  #host(name: string): Host {
    let host = this.#hosts.get(name);
    if (!host) {
      host = { inFlight: 0, failures: 0 };
      this.#hosts.set(name, host);
    }
    return host;
  }
}
