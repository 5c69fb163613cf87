/** Remembers which notifications were handled. Share one between processes by a class of your own. */
export abstract class SeenIds {
  /** Whether `id` was remembered. */
  abstract has(id: string): boolean | Promise<boolean>;
  /** Remembers `id` for at least as long as a sender may try again. */
  abstract add(id: string): void | Promise<void>;
}

const MOST = 100_000;

/** In memory, the oldest forgotten first. */
export class MemorySeenIds extends SeenIds {
  readonly #ids = new Set<string>();

  constructor(private readonly most = MOST) {
    super();
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  add(id: string): void {
    this.#ids.add(id);
    if (this.#ids.size <= this.most) return;
    const [oldest] = this.#ids;
    this.#ids.delete(oldest!);
  }
}
