import { EventEmitter } from 'node:events';
import type { StreamEvent } from '../../protocol/index.js';
import type { Fault } from '../faults.js';

/** The reader of a stream, as its binding writes to it. None of the methods throws because the reader is gone. */
export interface Sink {
  /** Writes frames in order. Resolves when the reader can take more, or is gone. */
  write(batch: readonly StreamEvent[]): Promise<void>;
  /** Shows an idle connection that it is alive, where the transport does not do that by itself. */
  beat?(): void;
  /** The stream is complete. */
  end(): void;
  /** The service failed: one error in the binding's own shape, then the end. */
  fail(fault: Fault): void;
  /** The service goes down: the reader should come back, to another replica. */
  leave(): void;
}

/** Waits until `writable` can take more. A reader that is gone never drains, hence the signal. */
export function drained(writable: EventEmitter, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      writable.off('drain', done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    writable.on('drain', done);
    signal.addEventListener('abort', done);
    if (signal.aborted) done();
  });
}
