import type { EventStream, StreamEvent } from '../../protocol/index.js';
import type { Sink } from './sink.js';

type Step = IteratorResult<readonly StreamEvent[]>;

/** What a stream failed with. */
export interface Failure {
  readonly thrown: unknown;
}

/**
 * Carries a stream to its reader, batch by batch: the next one is asked for when the reader has taken the last
 * one, so a slow reader holds no more than one batch. No function waits along with an idle stream, which would
 * keep what it has carried: thousands of them may be open.
 */
export class Pump {
  readonly #events: AsyncIterator<readonly StreamEvent[]>;
  #over = false;

  /** @param whenOver called once, when the stream has ended, failed or been stopped */
  constructor(
    stream: EventStream,
    private readonly sink: Sink,
    private readonly whenOver: (failure?: Failure) => void,
  ) {
    this.#events = stream[Symbol.asyncIterator]();
  }

  start(): void {
    if (!this.#over) this.#ask();
  }

  /** Ends it at once, whatever the stream waits for. The iterator is returned in any case. */
  stop(failure?: Failure): void {
    if (this.#over) return;
    this.#over = true;
    // Not awaited: a stream that waits for its next event returns only after it. Nobody is left to hear an error.
    this.#events.return?.().catch(() => {});
    this.whenOver(failure);
  }

  #ask(): void {
    this.#events.next().then(
      (step) => this.#carry(step),
      (thrown) => this.stop({ thrown }),
    );
  }

  async #carry(step: Step): Promise<void> {
    if (this.#over) return;
    if (step.done) {
      this.stop();
      return;
    }
    try {
      await this.sink.write(step.value);
      if (!this.#over) this.#ask();
    } catch (thrown) {
      this.stop({ thrown });
    }
  }
}
