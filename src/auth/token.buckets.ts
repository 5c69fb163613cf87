/** How fast a bucket fills, and how much it holds. */
export interface BucketSize {
  /** Tokens a second. */
  readonly rate: number;
  readonly capacity: number;
}

interface Bucket {
  tokens: number;
  /** When it held them, in milliseconds of a clock that only goes forward. */
  at: number;
}

/** A full bucket need not be kept, so this many are room enough for all who have been busy in the last seconds. */
const MOST = 100_000;

/** Token buckets by key, full at first. Of too many the one that was made first goes. */
export class TokenBuckets {
  readonly #buckets = new Map<string, Bucket>();

  constructor(
    private readonly size: BucketSize,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Takes one token. Gives the seconds, at least 1, after which there is one again where there is none; else 0. */
  take(key: string): number {
    const bucket = this.#filled(key);
    if (bucket.tokens < 1) return this.#wait(bucket);
    bucket.tokens -= 1;
    this.#keep(key, bucket);
    return 0;
  }

  /** What {@link take} would give. */
  wait(key: string): number {
    const bucket = this.#filled(key);
    return bucket.tokens < 1 ? this.#wait(bucket) : 0;
  }

  #wait({ tokens }: Bucket): number {
    return Math.max(1, Math.ceil((1 - tokens) / this.size.rate));
  }

  #filled(key: string): Bucket {
    const { rate, capacity } = this.size;
    const at = this.now();
    const last = this.#buckets.get(key);
    const tokens = last ? Math.min(capacity, last.tokens + ((at - last.at) / 1000) * rate) : capacity;
    return { tokens, at };
  }

  #keep(key: string, bucket: Bucket): void {
    if (!this.#buckets.has(key) && this.#buckets.size >= MOST) {
      const [first] = this.#buckets.keys();
      if (first !== undefined) this.#buckets.delete(first);
    }
    this.#buckets.set(key, bucket);
  }
}
