import { GroupLane, type PushSignal } from '../tasks/index.js';
import { type DeliveryServices, PushDelivery } from './push.delivery.js';
import type { PushClaim, PushReport, PushStore } from './push.store.js';

/** How often retries that have become due are looked for. */
const POLL_MS = 1_000;
/** Every so many polls, also for what nobody was told of: a replica died between commit and push. */
const POLLS_PER_SWEEP = 5;
/** Time for pushes in flight to end when the service stops. */
const STOP_MS = 3_000;
const REPORTS = { items: 500, size: Number.POSITIVE_INFINITY };

export interface DispatcherOptions {
  readonly store: PushStore;
  readonly signal: PushSignal;
  readonly services: DeliveryServices;
  readonly concurrency: number;
}

/**
 * Claims configs that have something to deliver and delivers, as much as there is room for:
 *
 *   idle --a commit's hint, or the poll--> wake, claim --> deliver each --> report --+--> idle
 *                                              ^--------- more waits, or room ------'
 *
 * A hint costs no statement until the round that is running has ended: under load many share one. A config is woken
 * once more after its report: what was committed while the report looked found it claimed and woke nobody.
 */
export class PushDispatcher {
  readonly #woken = new Set<string>();
  readonly #running = new Map<string, AbortController>();
  readonly #reports: GroupLane<PushReport, boolean>;
  #poll: NodeJS.Timeout | undefined;
  #polls = 0;
  #stopped = false;
  #round = false;
  #again = false;
  /** Something may be due beside what is woken. */
  #due = false;
  /** The last round left something behind for want of room. */
  #backlog = false;
  #whenIdle: (() => void) | undefined;

  constructor(private readonly options: DispatcherOptions) {
    this.#reports = new GroupLane((reports) => options.store.report(reports), REPORTS);
  }

  start(): void {
    this.options.signal.listen((taskId) => {
      this.#woken.add(taskId);
      this.#want();
    });
    this.#poll = setInterval(() => void this.#onPoll(), POLL_MS).unref();
    void this.#onPoll();
  }

  /** Breaks off what is being posted for a config. */
  abort(taskId: string, id: string): void {
    this.#running.get(key(taskId, id))?.abort();
  }

  /** Claims nothing more and lets what is in flight end. What it leaves is found by others, or at the next start. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#poll);
    const late = setTimeout(() => {
      for (const controller of this.#running.values()) controller.abort();
    }, STOP_MS);
    while (this.#running.size > 0 || this.#round) {
      await new Promise<void>((resolve) => {
        this.#whenIdle = resolve;
      });
    }
    clearTimeout(late);
  }

  /** Looks for due deliveries now: somebody has made some. */
  #want(): void {
    if (this.#stopped) return;
    this.#again = true;
    if (this.#round) return;
    this.#round = true;
    setImmediate(() => void this.#rounds());
  }

  async #onPoll(): Promise<void> {
    if (this.#polls++ % POLLS_PER_SWEEP === 0) await this.options.store.sweep().catch(() => undefined);
    this.#due = true;
    this.#want();
  }

  async #rounds(): Promise<void> {
    try {
      while (this.#again && !this.#stopped) {
        this.#again = false;
        await this.#claim();
      }
    } catch {
      // The database is away; the next poll asks again.
    } finally {
      this.#round = false;
      this.#whenIdle?.();
    }
  }

  async #claim(): Promise<void> {
    const { store, concurrency, services } = this.options;
    const ids = [...this.#woken];
    this.#woken.clear();
    const isDue = this.#due;
    this.#due = false;
    const woken = ids.length > 0 ? await store.wake(ids) : 0;
    if (woken === 0 && !isDue) return;
    const limit = concurrency - this.#running.size;
    if (limit <= 0) {
      this.#backlog = true;
      return;
    }
    const hosts = services.hosts.rooms();
    const perHost = services.hosts.share;
    const claims = await store.claim({ limit, perHost, hosts });
    this.#backlog = claims.length > 0 || [...hosts.values()].some((room) => room <= 0);
    for (const claim of claims) void this.#deliver(claim);
  }

  async #deliver(claim: PushClaim): Promise<void> {
    const { services } = this.options;
    const { host, id } = claim.target;
    const controller = new AbortController();
    this.#running.set(key(claim.taskId, id), controller);
    services.hosts.enter(host);
    try {
      const report = await new PushDelivery(claim, services, controller.signal).run();
      services.hosts.leave(host);
      const more = await this.#reports.submit(report, 1);
      if (more || this.#backlog) this.#due = true;
      this.#woken.add(claim.taskId);
      this.#want();
    } catch (cause) {
      services.hosts.leave(host);
      services.metrics.broken('A push could not be made; it is tried again', cause);
    } finally {
      this.#running.delete(key(claim.taskId, id));
      if (this.#running.size === 0) this.#whenIdle?.();
    }
  }
}

const key = (taskId: string, id: string) => `${taskId}/${id}`;
