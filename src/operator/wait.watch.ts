import { Injectable } from '@nestjs/common';
import { Config } from '../config/index.js';
import { WaitLog } from '../tasks/index.js';

/** How many times as long as a look took nobody looks again. */
const REST = 10;

/**
 * The looks at which tasks wait, shared by all on this replica who want to know. A look compares every task that
 * waits: the more there are, the rarer it gets, so that looking takes a tenth of the database's time at most.
 */
@Injectable()
export class WaitWatch {
  #looking: Promise<void> | undefined;
  #restUntil = 0;

  constructor(
    private readonly waits: WaitLog,
    private readonly config: Config,
  ) {}

  /** Resolves once what is known is new enough. Errors: `unavailable`. */
  async look(): Promise<void> {
    if (!this.#looking && performance.now() < this.#restUntil) return;
    this.#looking ??= this.#look();
    await this.#looking;
  }

  async #look(): Promise<void> {
    const begun = performance.now();
    try {
      await this.waits.look(this.config.approvalWebhook !== undefined);
    } finally {
      const now = performance.now();
      this.#restUntil = now + (now - begun) * REST;
      this.#looking = undefined;
    }
  }
}
