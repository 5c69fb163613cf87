import type { EventStream, StreamEvent } from '../../protocol/index.js';
import type { Sink } from './sink.js';

type Next = IteratorResult<readonly StreamEvent[]> | undefined;

/**
 * Carries a stream to its reader, batch by batch: the next one is asked for when the reader has taken the last
 * one, so a slow reader holds no more than one batch. Resolves at the stream's end and as soon as `signal`
 * aborts, whatever the stream waits for. The iterator is returned in any case. Rejects with what the stream threw.
 */
export async function pump(stream: EventStream, sink: Sink, signal: AbortSignal): Promise<void> {
  const iterator = stream[Symbol.asyncIterator]();
  let wake = () => {};
  const onAbort = () => wake();
  signal.addEventListener('abort', onAbort);
  try {
    while (!signal.aborted) {
      const next = await new Promise<Next>((resolve, reject) => {
        wake = () => resolve(undefined);
        iterator.next().then(resolve, reject);
      });
      if (next === undefined || next.done) return;
      await sink.write(next.value);
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    // Not awaited: a stream that waits for its next event returns only after it. Nobody is left to hear an error.
    iterator.return?.().catch(() => {});
  }
}
