interface Waiting<T, R> {
  readonly item: T;
  readonly size: number;
  readonly resolve: (result: R) => void;
  readonly reject: (error: unknown) => void;
}

export interface LaneLimits {
  readonly items: number;
  /** Bytes of one group, roughly. */
  readonly size: number;
  /** Milliseconds after which a slow group holds up the next ones no more; without it they keep their order. */
  readonly overtakeMs?: number;
}

/**
 * Group commit, and the same for reads: while one statement is in flight, what arrives gathers and then goes as
 * the next one. Idle latency is one statement; under load many share one. Items go in the order submitted.
 *
 *   idle --submit--> gathering (the rest of this turn of the event loop) --> in flight --+--> idle
 *                         ^------------------ more was submitted meanwhile --------------'
 */
export class GroupLane<T, R> {
  #waiting: Waiting<T, R>[] = [];
  #busy = false;

  /**
   * `run` answers one result per item, in order. When it throws, `concernsAll` says whether the error is
   * every item's; otherwise each is tried alone, so that one bad item spoils no other.
   */
  constructor(
    private readonly run: (items: readonly T[]) => Promise<readonly R[]>,
    private readonly limits: LaneLimits,
    private readonly concernsAll: (error: unknown) => boolean = () => false,
  ) {}

  submit(item: T, size: number): Promise<R> {
    return new Promise<R>((resolve, reject) => {
      this.#waiting.push({ item, size, resolve, reject });
      if (this.#busy) return;
      this.#busy = true;
      setImmediate(() => void this.#drain());
    });
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) await this.#patiently(this.#settle(this.#take()));
    this.#busy = false;
  }

  async #patiently(settled: Promise<void>): Promise<void> {
    const { overtakeMs } = this.limits;
    if (overtakeMs === undefined) return settled;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, overtakeMs);
    });
    await Promise.race([settled, late]);
    clearTimeout(timer);
  }

  async #settle(group: readonly Waiting<T, R>[]): Promise<void> {
    try {
      const results = await this.run(group.map((waiting) => waiting.item));
      group.forEach((waiting, i) => {
        waiting.resolve(results[i] as R);
      });
    } catch (error) {
      if (group.length > 1 && !this.concernsAll(error)) {
        for (const waiting of group) await this.#settle([waiting]);
      } else {
        for (const waiting of group) waiting.reject(error);
      }
    }
  }

  #take(): Waiting<T, R>[] {
    let count = 0;
    for (let size = 0; count < this.#waiting.length && count < this.limits.items; count++) {
      size += this.#waiting[count]!.size;
      if (count > 0 && size > this.limits.size) break;
    }
    return this.#waiting.splice(0, count);
  }
}
