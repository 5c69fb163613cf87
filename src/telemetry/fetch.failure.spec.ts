import { describe, expect, it } from 'vitest';
import { fetchFailure } from './fetch.failure.js';

describe('Why a fetch failed', () => {
  it('is in the words of its cause, of its code where several addresses were tried, else its own', async () => {
    const refused = await fetch('http://127.0.0.1:2').catch((error: unknown) => error);
    const several = Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' });

    expect(fetchFailure(refused)).toBe('connect ECONNREFUSED 127.0.0.1:2');
    expect(fetchFailure(new TypeError('fetch failed', { cause: several }))).toBe('ECONNREFUSED');
    expect(fetchFailure(new Error('answered 404'))).toBe('answered 404');
  });
});
