import { Injectable } from '@nestjs/common';
import { isMigrated, Postgres } from '../database/index.js';

/** What the service says about itself; anything but `ready` means that it wants no new requests. */
export type ReadyState =
  | 'ready'
  | 'draining'
  | 'database unavailable'
  | 'database not migrated'
  | 'database takes no writes';

const PATIENCE_MS = 2_000;
/** How often those are told who do not ask. */
const WATCH_MS = 2_000;

/** Whether this replica should be sent requests. */
@Injectable()
export class Readiness {
  readonly #draining = new AbortController();
  #wasReady = false;

  constructor(private readonly postgres: Postgres) {}

  /** Aborts when the service begins to stop. */
  get draining(): AbortSignal {
    return this.#draining.signal;
  }

  /** From now on the replica says that it is about to go. */
  drain(): void {
    this.#draining.abort();
  }

  /** Whether it was ready once. */
  get wasReady(): boolean {
    return this.#wasReady;
  }

  /** Tells whether requests are welcome, now and whenever that changes, until the service stops. */
  watch(tell: (ready: boolean) => void): void {
    let told: boolean | undefined;
    const look = async () => {
      const ready = (await this.state()) === 'ready';
      if (ready !== told) tell(ready);
      told = ready;
    };
    const timer = setInterval(() => void look(), WATCH_MS).unref();
    this.draining.addEventListener('abort', () => {
      clearInterval(timer);
      tell(false);
    });
    void look();
  }

  /** Asks the database. Answers within two seconds, never throws. */
  async state(): Promise<ReadyState> {
    if (this.draining.aborted) return 'draining';
    try {
      const state = await within(PATIENCE_MS, this.#look());
      if (state === 'ready') this.#wasReady = true;
      return this.draining.aborted ? 'draining' : state;
    } catch {
      return 'database unavailable';
    }
  }

  async #look(): Promise<ReadyState> {
    if (!(await isMigrated(this.postgres))) return 'database not migrated';
    return (await this.postgres.takesWrites()) ? 'ready' : 'database takes no writes';
  }
}

function within<T>(ms: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`No answer within ${ms} ms`)), ms);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
