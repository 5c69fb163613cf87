import type { Task } from '../protocol/index.js';
import { TaskFold, type TaskStore } from '../tasks/index.js';
import type { PushClaim, PushEvent } from './push.store.js';

/** Writes a task as receivers of protocol 0.3 read it. */
export type LegacyTask = (task: Task) => string;

const MESSAGE = '{"message"';
const STATUS = /^\{"(task|statusUpdate)"/;

/** Milestones of the log that are posted: all but the messages, which the caller wrote or was answered with. */
export const isPosted = ({ json }: PushEvent) => !json.startsWith(MESSAGE);

/**
 * Makes the bodies of a claim's events, undefined for those that are not posted. Since 1.0 a body is the event
 * as it stands in the log; before, it was the whole task at each change of its status.
 */
export class PushBodies {
  constructor(
    private readonly store: Pick<TaskStore, 'events'>,
    private readonly legacy?: LegacyTask,
  ) {}

  async of({ target, taskId, events }: PushClaim): Promise<ReadonlyMap<number, string>> {
    const posted = events.filter(isPosted);
    if (target.version === '1.0' || !this.legacy) return new Map(posted.map(({ seq, json }) => [seq, json]));
    const wanted = new Set(posted.filter(({ json }) => STATUS.test(json)).map(({ seq }) => seq));
    return this.#tasks(taskId, wanted, this.legacy);
  }

  async #tasks(
    taskId: string,
    wanted: ReadonlySet<number>,
    legacy: LegacyTask,
  ): Promise<Map<number, string>> {
    const bodies = new Map<number, string>();
    const last = Math.max(0, ...wanted);
    if (last === 0) return bodies;
    const [first, ...rest] = await this.store.events(taskId, 0, last);
    if (first?.response.payload.case !== 'task') return bodies;
    const fold = new TaskFold(first.response.payload.value);
    if (wanted.has(1)) bodies.set(1, legacy(fold.task));
    for (const { response, seq } of rest) {
      fold.apply(response);
      if (wanted.has(seq!)) bodies.set(seq!, legacy(fold.task));
    }
    return bodies;
  }
}
