/**
 * What is at hand by its id, where entries come and go with every task. Not a `Map`: each table that it outgrows points to
 * the next, so that one which has grown old keeps alive whatever passes through until the whole heap is collected.
 */
export class LiveTable<Entry> {
  readonly #entries: Record<string, Entry> = Object.create(null);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(id: string): Entry | undefined {
    return this.#entries[id];
  }

  set(id: string, entry: Entry): void {
    if (!(id in this.#entries)) this.#size++;
    this.#entries[id] = entry;
  }

  delete(id: string): void {
    if (!(id in this.#entries)) return;
    this.#size--;
    delete this.#entries[id];
  }

  values(): Entry[] {
    return Object.values(this.#entries);
  }
}
