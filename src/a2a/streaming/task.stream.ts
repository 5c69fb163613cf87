import type { StreamEvent, StreamResponse, TaskState } from '../../protocol/index.js';
import { Role } from '../../protocol/index.js';

/** A stream stopped before its end: this replica goes down, its task goes on elsewhere. */
export class StreamCut extends Error {
  override name = 'StreamCut';
}

/** What a stream shows. */
export interface TaskStreamSource {
  /** The log from the first frame on. */
  readonly tail: AsyncIterableIterator<readonly StreamEvent[]>;
  /** The states that the stream ends with. */
  readonly closesAt: (state: TaskState) => boolean;
  /** Aborts when the reader has left. */
  readonly signal: AbortSignal;
}

/**
 * A task's log as a caller sees it: the frame given first, then every event but the callers' own messages,
 * up to the one that closes the stream. Errors: {@link StreamCut}, and those of the log.
 */
export class TaskStream implements AsyncIterableIterator<readonly StreamEvent[]> {
  #first: readonly StreamEvent[];
  #closed = false;

  constructor(
    first: readonly StreamEvent[],
    private readonly source: TaskStreamSource,
  ) {
    this.#first = this.#visible(first);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<readonly StreamEvent[]>> {
    if (this.#first.length > 0) {
      const value = this.#first;
      this.#first = [];
      return { done: false, value };
    }
    while (!this.#closed) {
      const batch = await this.source.tail.next();
      if (batch.done) return this.#cut();
      const value = this.#visible(batch.value);
      if (value.length > 0) return { done: false, value };
    }
    return this.return();
  }

  async return(): Promise<IteratorResult<readonly StreamEvent[]>> {
    this.#closed = true;
    await this.source.tail.return?.();
    return { done: true, value: undefined };
  }

  /** The log stopped: fine where the reader has left, or has returned the stream. */
  async #cut(): Promise<IteratorResult<readonly StreamEvent[]>> {
    if (!this.#closed && !this.source.signal.aborted) throw new StreamCut();
    return this.return();
  }

  #visible(events: readonly StreamEvent[]): readonly StreamEvent[] {
    const end = events.findIndex(({ response }) => this.#closes(response));
    if (end >= 0) this.#closed = true;
    const shown = end >= 0 ? events.slice(0, end + 1) : events;
    return shown.some(fromCaller) ? shown.filter((event) => !fromCaller(event)) : shown;
  }

  #closes({ payload }: StreamResponse): boolean {
    if (payload.case === 'message') return payload.value.role === Role.AGENT;
    return payload.case === 'statusUpdate' && this.source.closesAt(payload.value.status!.state);
  }
}

function fromCaller({ response: { payload } }: StreamEvent): boolean {
  return payload.case === 'message' && payload.value.role === Role.USER;
}
