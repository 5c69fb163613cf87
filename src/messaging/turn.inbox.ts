import { Inbox } from '../agents/index.js';
import type { Message, StreamEvent } from '../protocol/index.js';

/** The messages that reach a running turn, and how far the agent has read. */
export class TurnInbox extends Inbox {
  readonly #unread: { message: Message; seq: number }[] = [];
  readonly #seen = new Set<number>();
  #newest: number;
  #wake: (() => void) | undefined;

  constructor(
    /** Number of the entry that started the turn, later of the last message taken. */
    public read: number,
    private readonly signal: AbortSignal,
  ) {
    super();
    this.#newest = read;
  }

  /** Number of the newest entry that has reached this replica. */
  get newest(): number {
    return this.#newest;
  }

  /**
   * Adds a delivered entry. False: it was here already. An approval is not a message; it waits for the next
   * turn.
   */
  put({ response, seq }: StreamEvent): boolean {
    if (this.#seen.has(seq!)) return false;
    this.#seen.add(seq!);
    this.#newest = Math.max(this.#newest, seq!);
    if (response.payload.case !== 'message') return true;
    this.#unread.push({ message: response.payload.value, seq: seq! });
    this.#wake?.();
    return true;
  }

  take(): Message | undefined {
    const next = this.#unread.shift();
    if (next) this.read = next.seq;
    return next?.message;
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Message> {
    const wake = () => this.#wake?.();
    this.signal.addEventListener('abort', wake);
    try {
      while (!this.signal.aborted) {
        const message = this.take();
        if (message) yield message;
        else await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      this.signal.removeEventListener('abort', wake);
    }
  }
}
