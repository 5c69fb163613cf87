import { Inbox } from '../agents/index.js';
import type { Message, StreamEvent } from '../protocol/index.js';

/** The messages that reach a running turn, and how far the agent has read. */
export class TurnInbox extends Inbox {
  readonly #unread: { message: Message; seq: number }[] = [];
  #wake: (() => void) | undefined;

  constructor(
    /** Number of the entry that started the turn, later of the last message taken. */
    public read: number,
    private readonly signal: AbortSignal,
  ) {
    super();
  }

  /** Adds a delivered entry. An approval is not a message; it waits for the next turn. */
  put({ response, seq }: StreamEvent): void {
    if (response.payload.case !== 'message') return;
    this.#unread.push({ message: response.payload.value, seq: seq! });
    this.#wake?.();
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
