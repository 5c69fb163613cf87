import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MIGRATIONS, type Postgres } from '../database/index.js';
import { Readiness } from './readiness.js';

let rowCount: number;
let away: boolean;
let full: boolean;
const postgres = {
  query: async () => {
    if (away) throw new Error('connection refused');
    return { rowCount };
  },
  takesWrites: async () => !full,
} as unknown as Postgres;

beforeEach(() => {
  vi.useFakeTimers();
  rowCount = MIGRATIONS.length;
  away = full = false;
});
afterEach(() => vi.useRealTimers());

describe('Readiness', () => {
  it('tells those who watch of every change, and of the end at once', async () => {
    const readiness = new Readiness(postgres);
    const told: boolean[] = [];
    readiness.watch((ready) => told.push(ready));
    await vi.advanceTimersByTimeAsync(5_000);
    expect(told).toEqual([true]);
    away = true;
    await vi.advanceTimersByTimeAsync(5_000);
    expect(told).toEqual([true, false]);
    away = false;
    await vi.advanceTimersByTimeAsync(5_000);
    readiness.drain();
    expect(told).toEqual([true, false, true, false]);
    expect(await readiness.state()).toBe('draining');
  });

  it('is not there while migrations are missing, and remembers that it was', async () => {
    const readiness = new Readiness(postgres);
    rowCount -= 1;
    expect(await readiness.state()).toBe('database not migrated');
    expect(readiness.wasReady).toBe(false);
    rowCount += 1;
    expect(await readiness.state()).toBe('ready');
    away = true;
    expect(await readiness.state()).toBe('database unavailable');
    expect(readiness.wasReady).toBe(true);
  });

  it('is not there while the database takes no writes', async () => {
    const readiness = new Readiness(postgres);
    full = true;
    expect(await readiness.state()).toBe('database takes no writes');
    expect(readiness.wasReady).toBe(false);
    full = false;
    expect(await readiness.state()).toBe('ready');
  });
});
