import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { testConfig } from '../../test/support/config.js';
import type { WaitLog } from '../tasks/index.js';
import { WaitWatch } from './wait.watch.js';

const LOOK_MS = 200;
let looks = 0;
let fails = false;
const log = {
  look: async () => {
    looks++;
    await new Promise((looked) => setTimeout(looked, LOOK_MS));
    if (fails) throw new Error('away');
  },
} as unknown as WaitLog;

let watch: WaitWatch;
beforeEach(() => {
  vi.useFakeTimers();
  looks = 0;
  fails = false;
  watch = new WaitWatch(log, testConfig({}));
});
afterEach(() => vi.useRealTimers());

describe('looking at which tasks wait', () => {
  it('is done once for all who ask at the same time', async () => {
    const asked = Promise.all([watch.look(), watch.look(), watch.look()]);
    await vi.advanceTimersByTimeAsync(LOOK_MS);
    await asked;
    expect(looks).toBe(1);
  });

  it('rests ten times as long as it took', async () => {
    const first = watch.look();
    await vi.advanceTimersByTimeAsync(LOOK_MS);
    await first;
    await vi.advanceTimersByTimeAsync(10 * LOOK_MS - 1);
    await watch.look();
    expect(looks).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    void watch.look();
    expect(looks).toBe(2);
  });

  it('tells everybody who asked that it failed, and goes on later', async () => {
    fails = true;
    const asked = Promise.allSettled([watch.look(), watch.look()]);
    await vi.advanceTimersByTimeAsync(LOOK_MS);
    expect((await asked).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await vi.advanceTimersByTimeAsync(10 * LOOK_MS);
    void watch.look().catch(() => undefined);
    expect(looks).toBe(2);
    await vi.advanceTimersByTimeAsync(LOOK_MS);
  });
});
