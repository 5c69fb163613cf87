import { describe, expect, it } from 'vitest';
import { HintBatch, readHints } from './hint.batch.js';

const id = (i: number) => `01a22e45-0600-7479-9abe-${`${i}`.padStart(12, '0')}`;

describe('hints between replicas', () => {
  it('arrive as they were told, only the newest number of each task', () => {
    const batch = new HintBatch();
    batch.add({ kind: 'event', taskId: id(1), seq: 3 });
    batch.add({ kind: 'cancel', taskId: id(2) });
    batch.add({ kind: 'turn' });
    batch.add({ kind: 'event', taskId: id(1), seq: 9 });
    const messages = batch.take('host/1');
    expect(batch.empty).toBe(true);
    expect(messages.map(readHints)).toEqual([
      {
        sender: 'host/1',
        hints: [
          { kind: 'cancel', taskId: id(2) },
          { kind: 'turn' },
          { kind: 'event', taskId: id(1), seq: 9 },
        ],
      },
    ]);
  });

  it('fit into what NOTIFY takes, however many there are', () => {
    const batch = new HintBatch();
    for (let i = 0; i < 1_000; i++) batch.add({ kind: 'event', taskId: id(i), seq: 1e12 + i });
    const messages = batch.take('a-rather-long-host-name.example.com/01a22e45-0600-7479-9abe-017ae7b81d21');
    for (const message of messages) expect(Buffer.byteLength(message)).toBeLessThan(8_000);
    expect(messages.flatMap((message) => readHints(message).hints)).toHaveLength(1_000);
  });

  it('of a later release are passed over', () => {
    expect(readHints('host/1 zsomething')).toEqual({ sender: 'host/1', hints: [] });
    expect(readHints('host/1')).toEqual({ sender: 'host/1', hints: [] });
  });
});
