const DAY_MS = 86_400_000;
const JITTER = 0.2;

/** When a push that failed is tried again. */
export class RetrySchedule {
  constructor(
    private readonly pauses: readonly number[],
    private readonly random: () => number = Math.random,
  ) {}

  /**
   * Milliseconds until the next try after `tries` failed ones, give or take a fifth so that receivers which
   * come back are not hit by all at once; at least what the receiver asked for. Undefined: no more tries.
   */
  pause(tries: number, retryAfterMs = 0): number | undefined {
    const pause = this.pauses[tries - 1];
    if (pause === undefined) return undefined;
    return Math.max(pause * (1 + JITTER * (2 * this.random() - 1)), Math.min(retryAfterMs, DAY_MS));
  }
}
