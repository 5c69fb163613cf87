import type { StreamEvent, StreamResponse, TaskState } from '../../protocol/index.js';
import { Role } from '../../protocol/index.js';
import { isTerminal } from '../../tasks/index.js';

type Batch = readonly StreamEvent[];
type Step = IteratorResult<Batch>;

/** A stream stopped before its end: this replica goes down, its task goes on elsewhere. */
export class StreamCut extends Error {
  override name = 'StreamCut';
}

/** Whether a stream ends with that state: with every terminal one, and with those of `pauses`. */
export const closesStream = (state: TaskState, pauses: readonly TaskState[]): boolean =>
  isTerminal(state) || pauses.includes(state);

const NONE: Batch = [];

/**
 * A task's log as a caller sees it: the frame given first, then every event but the callers' own messages,
 * up to the one that closes the stream. Whoever has it returns it. Errors: {@link StreamCut}, and those of the log.
 */
export class TaskStream implements AsyncIterableIterator<Batch> {
  #first: Batch;
  #closed = false;

  /**
   * @param tail the log from the first frame on
   * @param pauses see {@link closesStream}
   */
  constructor(
    first: Batch,
    private readonly tail: AsyncIterableIterator<Batch>,
    private readonly pauses: readonly TaskState[],
  ) {
    this.#first = this.#visible(first);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Step> {
    if (this.#first.length > 0) {
      const value = this.#first;
      this.#first = NONE;
      return Promise.resolve({ done: false, value });
    }
    if (this.#closed) return this.return();
    return this.tail.next().then((step) => this.#shown(step));
  }

  async return(): Promise<Step> {
    this.#closed = true;
    await this.tail.return?.();
    return { done: true, value: undefined };
  }

  #shown(step: Step): Step | Promise<Step> {
    if (step.done) return this.#cut();
    const value = this.#visible(step.value);
    return value.length > 0 ? { done: false, value } : this.next();
  }

  /** The log stopped: fine where the stream has been returned. */
  #cut(): Promise<Step> {
    if (!this.#closed) throw new StreamCut();
    return this.return();
  }

  #visible(events: Batch): Batch {
    const end = events.findIndex(({ response }) => this.#closes(response));
    if (end >= 0) this.#closed = true;
    const shown = end >= 0 ? events.slice(0, end + 1) : events;
    return shown.some(fromCaller) ? shown.filter((event) => !fromCaller(event)) : shown;
  }

  #closes({ payload }: StreamResponse): boolean {
    if (payload.case === 'message') return payload.value.role === Role.AGENT;
    return payload.case === 'statusUpdate' && closesStream(payload.value.status!.state, this.pauses);
  }
}

function fromCaller({ response: { payload } }: StreamEvent): boolean {
  return payload.case === 'message' && payload.value.role === Role.USER;
}
