import { describe, expect, it } from 'vitest';
import { TokenBuckets } from './token.buckets.js';

function setUp(rate: number, capacity: number) {
  let now = 0;
  const buckets = new TokenBuckets({ rate, capacity }, () => now);
  const pass = (ms: number) => {
    now += ms;
  };
  return { buckets, pass };
}

describe('A token bucket', () => {
  it('gives what it holds at once, then as much as flows in', () => {
    const { buckets, pass } = setUp(2, 4);
    expect([1, 2, 3, 4, 5].map(() => buckets.take('a'))).toEqual([0, 0, 0, 0, 1]);
    pass(500);
    expect([buckets.take('a'), buckets.take('a')]).toEqual([0, 1]);
  });

  it('never holds more than it can', () => {
    const { buckets, pass } = setUp(1, 2);
    pass(3_600_000);
    expect([1, 2, 3].map(() => buckets.take('a'))).toEqual([0, 0, 1]);
  });

  it('says how many seconds its slow flow takes', () => {
    const { buckets } = setUp(0.1, 1);
    buckets.take('a');
    expect(buckets.wait('a')).toBe(10);
    expect(buckets.take('a')).toBe(10);
  });

  it('is one for each key', () => {
    const { buckets } = setUp(1, 1);
    expect([buckets.take('a'), buckets.take('b'), buckets.take('a')]).toEqual([0, 0, 1]);
  });
});
