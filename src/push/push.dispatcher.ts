import { LiveTable, type PushSignal } from '../tasks/index.js';
import { type DeliveryServices, PushDelivery } from './push.delivery.js';
import type { PushClaim, PushReport, PushStore } from './push.store.js';

/** How often retries that have become due are looked for. */
const POLL_MS = 1_000;
/** How often what nobody was told of is looked for: a replica died between commit and push. */
const SWEEP_MS = 5_000;
/** A sweep looks at every config that waits. The more there are, the rarer it gets: it rests ten times as long. */
const SWEEP_REST = 10;
/**
 * Between two claims under load: what comes in this time shares the statements of the next round. The longer, the fewer
 * statements a push costs; where few configs come, longer would only be later.
 */
const GATHER_MS = 20;
const GATHER_MANY_MS = 50;
const MANY = 10;
/** Time for pushes in flight to end when the service stops. */
const STOP_MS = 3_000;

export interface DispatcherOptions {
  readonly store: PushStore;
  readonly signal: PushSignal;
  readonly services: DeliveryServices;
  readonly concurrency: number;
}

/**
 * Claims configs that have something to deliver and delivers, as much as there is room for, in rounds of two statements:
 *
 *   idle --a commit's hint, the poll, or a delivery has ended--> report what has ended, claim --> deliver each --> idle
 *                                                                   ^--------- more waits, or room ------'
 *
 * The first round begins at once; under load many share one. A config that has caught up is looked at once more after
 * its report: what was committed while the report looked found it claimed and woke nobody.
 */
export class PushDispatcher {
  readonly #fresh = new Set<string>();
  readonly #running = new LiveTable<PushDelivery>();
  readonly #reports: PushReport[] = [];
  #poll: NodeJS.Timeout | undefined;
  #sweepAt = Number.NEGATIVE_INFINITY;
  #stopped = false;
  #round = false;
  #again = false;
  /** Something may be due beside what is fresh. */
  #due = false;
  #claimedAt = Number.NEGATIVE_INFINITY;
  #claimed = 0;
  /** The last claim left something behind for want of room. */
  #backlog = false;
  #whenIdle: (() => void) | undefined;

  constructor(private readonly options: DispatcherOptions) {}

  start(): void {
    this.options.signal.listen((taskId) => {
      this.#fresh.add(taskId);
      this.#want();
    });
    this.#poll = setInterval(() => this.#onPoll(), POLL_MS).unref();
    this.#onPoll();
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
      for (const delivery of this.#running.values()) delivery.abort();
    }, STOP_MS);
    while (this.#running.size > 0 || this.#round) {
      await new Promise<void>((resolve) => {
        this.#whenIdle = resolve;
      });
    }
    clearTimeout(late);
  }

  /** There is something to report, or may be something to claim. */
  #want(): void {
    this.#again = true;
    if (this.#round) return;
    this.#round = true;
    setImmediate(() => void this.#rounds());
  }

  #onPoll(): void {
    this.#due = true;
    this.#want();
    if (performance.now() >= this.#sweepAt) void this.#sweep();
  }

  async #sweep(): Promise<void> {
    const begun = performance.now();
    this.#sweepAt = Number.POSITIVE_INFINITY;
    await this.options.store.sweep().catch(() => undefined);
    const took = performance.now() - begun;
    this.#sweepAt = begun + Math.max(SWEEP_MS, took * SWEEP_REST);
    this.#due = true;
    this.#want();
  }

  async #rounds(): Promise<void> {
    while (this.#again) {
      this.#again = false;
      await this.#report();
      // Without the database there is nothing to claim; the next poll asks again.
      if (!this.#stopped) await this.#claim().catch(() => undefined);
      if (this.#again) await this.#gather();
    }
    this.#round = false;
    this.#whenIdle?.();
  }

  async #gather(): Promise<void> {
    const gather = this.#claimed < MANY ? GATHER_MS : GATHER_MANY_MS;
    const left = this.#claimedAt + gather - performance.now();
    if (left > 0) await new Promise((resolve) => setTimeout(resolve, left));
  }

  /** A claim whose report fails runs out: what it delivered is delivered again. */
  async #report(): Promise<void> {
    const { store, services } = this.options;
    const reports = this.#reports.splice(0);
    if (reports.length === 0) return;
    try {
      const next = await store.report(reports);
      for (const [i, { claim }] of reports.entries()) {
        if (next[i] === 'idle') this.#fresh.add(claim.taskId);
        this.#due ||= next[i] === 'more' || this.#backlog;
      }
    } catch (cause) {
      services.metrics.broken('Pushes could not be taken down; they are made again', cause);
    }
    for (const { claim } of reports) this.#running.delete(key(claim.taskId, claim.target.id));
  }

  async #claim(): Promise<void> {
    const { store, concurrency, services } = this.options;
    const limit = Math.max(0, concurrency - this.#running.size);
    const fresh = [...this.#fresh];
    if (fresh.length === 0 && !(this.#due && limit > 0)) return;
    this.#fresh.clear();
    this.#due &&= limit === 0;
    this.#claimedAt = performance.now();
    const hosts = services.hosts.rooms();
    const perHost = services.hosts.share;
    const claims = await store.claim(fresh, { limit, perHost, hosts }).catch((error: unknown) => {
      for (const taskId of fresh) this.#fresh.add(taskId);
      throw error;
    });
    for (const claim of claims) void this.#deliver(claim);
    this.#claimed = claims.length;
    this.#backlog = claims.length >= limit || [...services.hosts.rooms().values()].some((room) => room <= 0);
  }

  async #deliver(claim: PushClaim): Promise<void> {
    const { services } = this.options;
    const { host, id } = claim.target;
    const delivery = new PushDelivery(claim, services);
    this.#running.set(key(claim.taskId, id), delivery);
    services.hosts.enter(host);
    try {
      this.#reports.push(await delivery.run());
    } catch (cause) {
      services.metrics.broken('A push could not be made; it is tried again', cause);
      this.#running.delete(key(claim.taskId, id));
    } finally {
      services.hosts.leave(host);
      this.#want();
    }
  }
}

const key = (taskId: string, id: string) => `${taskId}/${id}`;
