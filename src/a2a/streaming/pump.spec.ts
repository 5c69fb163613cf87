import { describe, expect, it } from 'vitest';
import { chunk, streamOf } from '../../../test/support/fake.operations.js';
import type { EventStream, StreamEvent } from '../../protocol/index.js';
import { pump } from './pump.js';
import type { Sink } from './sink.js';

/** Notes what it is given; takes as long for each batch as the test says. */
class NotingSink implements Sink {
  readonly seen: (number | undefined)[][] = [];
  pace: () => Promise<void> = async () => {};

  async write(batch: readonly StreamEvent[]): Promise<void> {
    this.seen.push(batch.map(({ seq }) => seq));
    await this.pace();
  }
  end(): void {}
  fail(): void {}
  leave(): void {}
}

const open = () => new AbortController();

describe('The pump', () => {
  it('carries batches in their order and resolves at the end', async () => {
    const sink = new NotingSink();
    await pump(streamOf([chunk(1)], [chunk(2), chunk(3)], []), sink, open().signal);
    expect(sink.seen).toEqual([[1], [2, 3], []]);
  });

  it('asks for the next batch when the reader has taken the last one', async () => {
    const sink = new NotingSink();
    let asked = 0;
    const stream = (async function* (): EventStream {
      for (let seq = 1; seq <= 3; seq++) {
        asked++;
        yield [chunk(seq)];
      }
    })();
    let release = () => {};
    const taken = new Promise<void>((resolve) => {
      release = resolve;
    });
    sink.pace = () => taken;
    const pumped = pump(stream, sink, open().signal);
    await new Promise((resolve) => setImmediate(resolve));
    expect(asked).toBe(1);

    release();
    await pumped;
    expect(asked).toBe(3);
  });

  it('stops at once when the signal aborts, though the stream waits for ever, and returns it', async () => {
    const controller = open();
    let returned = false;
    const stream: EventStream = {
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise(() => {}),
        return: () => {
          returned = true;
          return Promise.reject(new Error('cannot even end'));
        },
      }),
    };
    const pumped = pump(stream, new NotingSink(), controller.signal);
    controller.abort();
    await pumped;
    expect(returned).toBe(true);
  });

  it('asks for nothing when the reader is gone before it begins, and still returns the stream', async () => {
    const sink = new NotingSink();
    const stream = streamOf([chunk(1)]);
    await pump(stream, sink, AbortSignal.abort());
    expect(sink.seen).toEqual([]);
    expect((await stream[Symbol.asyncIterator]().next()).done).toBe(true);
  });

  it('rejects with what the stream throws', async () => {
    const stream = (async function* (): EventStream {
      yield [chunk(1)];
      throw new Error('broken');
    })();
    await expect(pump(stream, new NotingSink(), open().signal)).rejects.toThrow('broken');
  });

  it('leaves no listener on the signal', async () => {
    const { signal } = open();
    let listeners = 0;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...given: Parameters<typeof add>) => {
      listeners++;
      add(...given);
    };
    signal.removeEventListener = (...given: Parameters<typeof remove>) => {
      listeners--;
      remove(...given);
    };
    await pump(streamOf([chunk(1)], [chunk(2)]), new NotingSink(), signal);
    expect(listeners).toBe(0);
  });
});
