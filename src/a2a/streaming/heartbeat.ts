import type { Sink } from './sink.js';

/** Parts of the pause: in each one, a part of the streams has its turn. */
const PARTS = 15;

/** Shows idle connections that they are alive: one timer for all streams, which never beat all at once. */
export class Heartbeat {
  readonly #parts = Array.from({ length: PARTS }, () => new Set<Sink>());
  #timer: NodeJS.Timeout | undefined;
  #size = 0;
  #added = 0;
  #beaten = 0;

  /** @param pauseMs the longest time that a stream goes without a sign */
  constructor(private readonly pauseMs: number) {}

  /** From now on the sink beats, unless its transport does that by itself. */
  add(sink: Sink): void {
    if (!sink.beat) return;
    this.#parts[this.#added++ % PARTS]!.add(sink);
    this.#size++;
    this.#timer ??= setInterval(() => this.#beat(), this.pauseMs / PARTS);
  }

  remove(sink: Sink): void {
    if (!this.#parts.some((part) => part.delete(sink))) return;
    if (--this.#size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #beat(): void {
    for (const sink of this.#parts[this.#beaten++ % PARTS]!) sink.beat?.();
  }
}
