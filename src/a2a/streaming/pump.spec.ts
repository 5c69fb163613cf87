import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { chunk, streamOf } from '../../../test/support/fake.operations.js';
import type { EventStream, StreamEvent } from '../../protocol/index.js';
import { type Failure, Pump } from './pump.js';
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

/** A pump at work. `over` resolves with what it ended by; `ends` counts how often it said so. */
function pumping(stream: EventStream, sink: Sink = new NotingSink()) {
  const told: (Failure | undefined)[] = [];
  let end = (_failure?: Failure) => {};
  const over = new Promise<Failure | undefined>((resolve) => {
    end = resolve;
  });
  const pump = new Pump(stream, sink, (failure) => {
    told.push(failure);
    end(failure);
  });
  return { pump, over, told };
}

const aTurn = () => new Promise((resolve) => setImmediate(resolve));

/** Waits for ever, and notes whether it has been returned. */
function silent() {
  const state = { returned: 0 };
  const stream: EventStream = {
    [Symbol.asyncIterator]: () => ({
      next: () => new Promise(() => {}),
      return: () => {
        state.returned++;
        return Promise.reject(new Error('cannot even end'));
      },
    }),
  };
  return { stream, state };
}

describe('The pump', () => {
  it('carries batches in their order and ends with the stream', async () => {
    const sink = new NotingSink();
    const { pump, over } = pumping(streamOf([chunk(1)], [chunk(2), chunk(3)], []), sink);
    pump.start();
    expect(await over).toBeUndefined();
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
    const { pump, over } = pumping(stream, sink);
    pump.start();
    await aTurn();
    expect(asked).toBe(1);

    release();
    await over;
    expect(asked).toBe(3);
  });

  it('stops at once, though the stream waits for ever, and returns it once', () => {
    const { stream, state } = silent();
    const { pump, told } = pumping(stream);
    pump.start();
    pump.stop();
    pump.stop();
    expect(told).toEqual([undefined]);
    expect(state.returned).toBe(1);
  });

  it('stops while the reader is behind, and carries no more', async () => {
    const sink = new NotingSink();
    let release = () => {};
    sink.pace = () => new Promise<void>((resolve) => (release = resolve));
    const { pump, told } = pumping(streamOf([chunk(1)], [chunk(2)]), sink);
    pump.start();
    await aTurn();
    pump.stop();
    release();
    await aTurn();
    expect(told).toEqual([undefined]);
    expect(sink.seen).toEqual([[1]]);
  });

  it('asks for nothing when it is stopped before it begins, and still returns the stream', async () => {
    const sink = new NotingSink();
    const stream = streamOf([chunk(1)]);
    const { pump, over } = pumping(stream, sink);
    pump.stop();
    pump.start();
    await over;
    expect(sink.seen).toEqual([]);
    expect((await stream[Symbol.asyncIterator]().next()).done).toBe(true);
  });

  it('ends with what the stream throws, or the encoding of an event', async () => {
    const broken = new Error('broken');
    const stream = (async function* (): EventStream {
      yield [chunk(1)];
      throw broken;
    })();
    const throwing = pumping(stream);
    throwing.pump.start();
    expect(await throwing.over).toEqual({ thrown: broken });

    const sink = new NotingSink();
    sink.pace = () => Promise.reject(broken);
    const unwritten = pumping(streamOf([chunk(1)], [chunk(2)]), sink);
    unwritten.pump.start();
    expect(await unwritten.over).toEqual({ thrown: broken });
    expect(sink.seen).toEqual([[1]]);
  });

  it('keeps nothing of what it has carried while the stream is silent', async () => {
    let last: WeakRef<StreamEvent> | undefined;
    const stream: EventStream = {
      [Symbol.asyncIterator]: () => ({
        next: () => {
          if (last) return new Promise(() => {});
          const event = chunk(1);
          last = new WeakRef(event);
          return Promise.resolve({ done: false, value: [event] });
        },
      }),
    };
    const sink = new NotingSink();
    const { pump } = pumping(stream, sink);
    pump.start();
    await aTurn();
    expect(sink.seen).toEqual([[1]]);

    setFlagsFromString('--expose-gc');
    runInNewContext('gc')();
    expect(last?.deref()).toBeUndefined();
    pump.stop();
  });
});
