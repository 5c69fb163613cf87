import { describe, expect, it } from 'vitest';
import { LiveTable } from './live.table.js';

describe('a live table', () => {
  it('counts an entry once, however often it is set or taken out', () => {
    const table = new LiveTable<string>();
    table.set('a', 'one');
    table.set('a', 'two');
    table.set('b', 'three');
    expect([table.get('a'), table.size, table.values()]).toEqual(['two', 2, ['two', 'three']]);
    table.delete('a');
    table.delete('a');
    expect([table.get('a'), table.size, table.values()]).toEqual([undefined, 1, ['three']]);
  });

  it('knows no ids but those it was given', () => {
    const table = new LiveTable<string>();
    expect(['constructor', '__proto__', 'toString'].map((id) => table.get(id))).toEqual(
      Array(3).fill(undefined),
    );
    table.set('__proto__', 'one');
    expect([table.get('__proto__'), table.size]).toEqual(['one', 1]);
  });
});
