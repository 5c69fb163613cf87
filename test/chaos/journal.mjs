const TERMINAL = /_(COMPLETED|FAILED|CANCELED|REJECTED)$/;

/** Nothing more happens to a task of that state. */
export const isTerminal = (state) => TERMINAL.test(state);
/** Nothing happens to a task of that state until somebody acts. */
export const isAtRest = (state) => isTerminal(state) || /_(INPUT|AUTH)_REQUIRED$/.test(state);

/**
 * What one connection of a stream brought. `after`: resumed after that event; `frames` in the order they came.
 * @typedef {{taskId: string, binding: string, after?: number, frames: {seq?: number, event: any}[],
 *   whole: boolean}} StreamRecord
 */

/** What the clients were told in a run: the audit holds the service to it. */
export class Journal {
  /** Accepted tasks: the texts of their messages, and the terminal state that somebody was told. */
  /** @type {Map<string, {texts: string[], told?: string}>} */
  tasks = new Map();
  /** The tasks that each message led to. @type {Map<string, Set<string>>} */
  messages = new Map();
  /** @type {StreamRecord[]} */
  streams = [];
  /** Answers that no fault excuses. @type {string[]} */
  wrong = [];
  /** @type {Map<string, {done: number, times: number[]}>} */
  operations = new Map();
  /** What the last answer was of clients that stopped trying. @type {string[]} */
  gaveUp = [];
  retries = 0;
  /** Blocking sends that were answered with a task that still ran. */
  early = 0;
  #ids = [];

  /** A message was answered with its task. */
  accepted(messageId, text, task) {
    let entry = this.tasks.get(task.id);
    if (!entry) {
      entry = { texts: [] };
      this.tasks.set(task.id, entry);
      this.#ids.push(task.id);
    }
    const tasks = this.messages.get(messageId) ?? new Set();
    if (tasks.size === 0) entry.texts.push(text);
    this.messages.set(messageId, tasks.add(task.id));
    this.told(task.id, task.status.state);
  }

  /** Somebody was told that the task is in that state. */
  told(taskId, state) {
    const entry = this.tasks.get(taskId);
    if (!entry || !isTerminal(state)) return;
    if (entry.told && entry.told !== state)
      this.wrong.push(`task ${taskId} was ${entry.told}, then ${state}`);
    entry.told = state;
  }

  /** @param {string} operation @param {number} ms */
  done(operation, ms) {
    const entry = this.operations.get(operation) ?? { done: 0, times: [] };
    entry.done += 1;
    entry.times.push(ms);
    this.operations.set(operation, entry);
  }

  /** An accepted task, or undefined while there is none. */
  anyTask(random) {
    return this.#ids.length === 0 ? undefined : random.pick(this.#ids);
  }
}
