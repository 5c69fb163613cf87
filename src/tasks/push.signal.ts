/** Tells that tasks with push configs have new committed events. A hint: whoever needs to know looks, too. */
export class PushSignal {
  #listener: ((taskId: string) => void) | undefined;

  raise(taskId: string): void {
    this.#listener?.(taskId);
  }

  listen(listener: (taskId: string) => void): void {
    this.#listener = listener;
  }
}
