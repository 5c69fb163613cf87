/** Failures in a row, with nothing between them, that pause a host. */
export const FAILURES_TO_PAUSE = 20;
/** Room that every host keeps, however many there are. */
const LEAST_ROOM = 4;
/** Hosts whose failures are remembered. */
const MOST_FAILING = 10_000;

/**
 * What this replica knows of the hosts it posts to, so that a slow or dead one holds up nobody else. No host may have
 * more pushes in flight than its share of all of them. One that keeps failing is paused for all replicas:
 *
 *   open --20 failures in a row at one replica--> paused --after 5 s, doubling to 20 s--> probed by one push
 *     ^------------------------------------- the probe succeeds -------------------------------'
 */
export class ReceiverHosts {
  readonly #inFlight = new Map<string, number>();
  readonly #failures = new Map<string, number>();

  constructor(private readonly concurrency: number) {}

  /** Pushes that one host may have in flight right now. */
  get share(): number {
    const half = Math.ceil(this.concurrency / 2);
    return Math.min(half, Math.max(LEAST_ROOM, Math.floor(this.concurrency / (this.#inFlight.size + 1))));
  }

  /** How many more pushes each host may have that has some in flight. */
  rooms(): Map<string, number> {
    const { share } = this;
    return new Map([...this.#inFlight].map(([host, pushes]) => [host, share - pushes]));
  }

  enter(host: string): void {
    this.#inFlight.set(host, (this.#inFlight.get(host) ?? 0) + 1);
  }

  leave(host: string): void {
    const left = this.#inFlight.get(host)! - 1;
    if (left === 0) this.#inFlight.delete(host);
    else this.#inFlight.set(host, left);
  }

  succeeded(host: string): void {
    this.#failures.delete(host);
  }

  /** True when this is one failure too many. */
  failed(host: string): boolean {
    const failures = ((this.#failures.get(host) ?? 0) + 1) % FAILURES_TO_PAUSE;
    this.#failures.delete(host);
    if (failures === 0) return true;
    this.#failures.set(host, failures);
    if (this.#failures.size > MOST_FAILING) this.#failures.delete(this.#failures.keys().next().value!);
    return false;
  }
}
