/** Failures in a row, with nothing between them, that pause a host. */
const FAILURES_TO_PAUSE = 20;
const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 60_000;
/** Room that every host keeps, however many there are. */
const LEAST_ROOM = 4;

/** A host that keeps failing, as operators see it. */
export interface FailingHost {
  readonly host: string;
  /** In a row. */
  readonly failures: number;
  /** Milliseconds until the next probe; 0 while it is under way. */
  readonly probeInMs: number;
}

interface Host {
  inFlight: number;
  failures: number;
  pauseMs: number;
  pausedUntil: number;
}

/**
 * What this replica knows of the hosts it posts to, so that a slow or dead one holds up nobody else:
 *
 *   open --20 failures in a row--> paused --after 5 s, doubling to 60 s--> probed by one push
 *     ^------------------------------ any success -----------------------------'
 *
 * No host may have more pushes in flight than its share of all of them.
 */
export class ReceiverHosts {
  readonly #hosts = new Map<string, Host>();

  constructor(
    private readonly concurrency: number,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Pushes that one host may have in flight right now. */
  get share(): number {
    const share = Math.floor(this.concurrency / (this.#hosts.size + 1));
    return Math.max(LEAST_ROOM, Math.min(share, Math.ceil(this.concurrency / 2)));
  }

  /** How many more pushes each known host may have. */
  rooms(): Map<string, number> {
    return new Map([...this.#hosts].map(([name, host]) => [name, this.#room(host)]));
  }

  enter(name: string): void {
    this.#host(name).inFlight++;
  }

  leave(name: string): void {
    const host = this.#host(name);
    if (--host.inFlight === 0 && host.failures === 0) this.#hosts.delete(name);
  }

  /** Milliseconds until the host may be tried, 0 when now. */
  pause(name: string): number {
    const host = this.#hosts.get(name);
    return host ? Math.max(0, host.pausedUntil - this.now()) : 0;
  }

  /** The hosts that are paused, or probed right now. */
  failing(): FailingHost[] {
    return [...this.#hosts]
      .filter(([, { failures }]) => failures >= FAILURES_TO_PAUSE)
      .map(([host, { failures }]) => ({ host, failures, probeInMs: Math.round(this.pause(host)) }));
  }

  succeeded(name: string): void {
    Object.assign(this.#host(name), { failures: 0, pauseMs: FIRST_PAUSE_MS, pausedUntil: 0 });
  }

  /** True when this failure pauses a host that was open. */
  failed(name: string): boolean {
    const host = this.#host(name);
    host.failures++;
    if (host.failures < FAILURES_TO_PAUSE || host.pausedUntil > this.now()) return false;
    host.pausedUntil = this.now() + host.pauseMs;
    host.pauseMs = Math.min(host.pauseMs * 2, LONGEST_PAUSE_MS);
    return host.failures === FAILURES_TO_PAUSE;
  }

  #room(host: Host): number {
    if (host.failures < FAILURES_TO_PAUSE) return this.share - host.inFlight;
    return host.pausedUntil > this.now() ? 0 : 1 - host.inFlight;
  }

  #host(name: string): Host {
    let host = this.#hosts.get(name);
    if (!host) {
      host = { inFlight: 0, failures: 0, pauseMs: FIRST_PAUSE_MS, pausedUntil: 0 };
      this.#hosts.set(name, host);
    }
    return host;
  }
}
