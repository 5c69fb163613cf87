import type { Hint } from './event.bus.js';

/** Hints of one message at most: 50 bytes each, below the 8,000 bytes that NOTIFY takes. */
const BATCH = 140;

/** Hints on their way out; of a task's events only the newest is worth telling. */
export class HintBatch {
  readonly #events = new Map<string, number>();
  readonly #others = new Set<string>();

  add(hint: Hint): void {
    if (hint.kind === 'event') this.#events.set(hint.taskId, hint.seq);
    else this.#others.add(hint.kind === 'cancel' ? `c${hint.taskId}` : 't');
  }

  get empty(): boolean {
    return this.#events.size + this.#others.size === 0;
  }

  clear(): void {
    this.#events.clear();
    this.#others.clear();
  }

  /** All hints so far as messages, each beginning with the sender's name. */
  take(sender: string): string[] {
    const words = [...this.#others, ...[...this.#events].map(([taskId, seq]) => `e${taskId}:${seq}`)];
    this.clear();
    const messages: string[] = [];
    for (let i = 0; i < words.length; i += BATCH) {
      messages.push(`${sender} ${words.slice(i, i + BATCH).join(' ')}`);
    }
    return messages;
  }
}

/** A message as another replica sent it. Words of a later release are passed over. */
export function readHints(message: string): { sender: string; hints: Hint[] } {
  const [sender = '', ...words] = message.split(' ');
  return { sender, hints: words.flatMap(readHint) };
}

function readHint(word: string): Hint[] {
  const rest = word.slice(1);
  switch (word[0]) {
    case 'e': {
      const [taskId = '', seq] = rest.split(':');
      return [{ kind: 'event', taskId, seq: Number(seq) }];
    }
    case 'c':
      return [{ kind: 'cancel', taskId: rest }];
    case 't':
      return [{ kind: 'turn' }];
    default:
      return [];
  }
}
