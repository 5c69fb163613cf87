/** Lines of a cart, one per article. */
export class Cart {
  #lines = new Map();

  add(article, count = 1) {
    if (!Number.isInteger(count) || count < 1) throw new RangeError('count must be a positive integer');
    this.#lines.set(article, (this.#lines.get(article) ?? 0) + count);
  }

  remove(article) {
    return this.#lines.delete(article);
  }

  get lines() {
    return [...this.#lines].map(([article, count]) => ({ article, count }));
  }
}
