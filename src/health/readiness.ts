import { Injectable } from '@nestjs/common';
import { isMigrated, Postgres } from '../database/index.js';

/** What the service says about itself; anything but `ready` means that it wants no new requests. */
export type ReadyState = 'ready' | 'draining' | 'database unavailable' | 'database not migrated';

const PATIENCE_MS = 2_000;

/** Whether this replica should be sent requests. */
@Injectable()
export class Readiness {
  readonly #draining = new AbortController();

  constructor(private readonly postgres: Postgres) {}

  /** Aborts when the service begins to stop. */
  get draining(): AbortSignal {
    return this.#draining.signal;
  }

  /** From now on the replica says that it is about to go. */
  drain(): void {
    this.#draining.abort();
  }

  /** Asks the database. Answers within two seconds, never throws. */
  async state(): Promise<ReadyState> {
    if (this.draining.aborted) return 'draining';
    try {
      return (await within(PATIENCE_MS, isMigrated(this.postgres))) ? 'ready' : 'database not migrated';
    } catch {
      return 'database unavailable';
    }
  }
}

function within<T>(ms: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`No answer within ${ms} ms`)), ms);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
