import {
  decodeMessage,
  EXTENSION_URIS,
  encodeMessageText,
  hiddenExtensions,
  StreamResponseSchema,
  type Task,
  v03,
  withoutExtensions,
} from '../protocol/index.js';
import { type PushTarget, TaskFold, type TaskStore } from '../tasks/index.js';
import type { PushClaim, PushEvent } from './push.store.js';

const MESSAGE = '{"message"';
/** Nearly no event has such data, and text is searched faster than it is parsed. */
const MAYBE_EXTENDED = new RegExp(Object.values(EXTENSION_URIS).join('|').replaceAll('.', '\\.'));
const STATUS = /^\{"(task|statusUpdate)"/;

/** What the log's events are posted as, by the version that the receiver reads. */
export const contentType = ({ version }: PushTarget) =>
  version === '1.0' ? 'application/a2a+json' : 'application/json';

/** All but the messages, which the caller wrote or was answered with. */
const isPosted = ({ json }: PushEvent) => !json.startsWith(MESSAGE);

/** What is posted for an event; undefined where nothing is. */
export type BodyOf = (event: PushEvent) => string | undefined | Promise<string | undefined>;

/**
 * Makes the bodies of a claim's events, which are asked for in their order. Since 1.0 a body is the event as it stands
 * in the log; before, it was the whole task at each change of its status.
 */
export class PushBodies {
  constructor(private readonly store: Pick<TaskStore, 'events'>) {}

  of({ target, taskId }: PushClaim): BodyOf {
    const hidden = hiddenExtensions(target.extensions);
    if (target.version === '1.0') return (event) => (isPosted(event) ? bare(event.json, hidden) : undefined);
    const past = new PastTask(this.store, taskId);
    return async ({ seq, json }) => {
      const task = STATUS.test(json) ? await past.at(seq) : undefined;
      return task && v03.taskBody(withoutExtensions(task, hidden));
    };
  }
}

/** A task as it was after an event, then after later ones. */
class PastTask {
  #fold: TaskFold | undefined;
  #seq = 0;

  constructor(
    private readonly store: Pick<TaskStore, 'events'>,
    private readonly taskId: string,
  ) {}

  /** Undefined where its log does not reach back to its beginning any more. */
  async at(seq: number): Promise<Task | undefined> {
    while (this.#seq < seq) {
      const events = await this.store.events(this.taskId, this.#seq, seq - this.#seq);
      for (const { response } of events) {
        if (this.#fold) this.#fold.apply(response);
        else if (response.payload.case === 'task') this.#fold = new TaskFold(response.payload.value);
        else return undefined;
      }
      if (events.length === 0) return undefined;
      this.#seq = events.at(-1)!.seq!;
    }
    return this.#fold?.task;
  }
}

/** The event without data of extensions that its receiver has not asked for. */
function bare(json: string, hidden: ReadonlySet<string>): string {
  if (!MAYBE_EXTENDED.test(json)) return json;
  const response = decodeMessage(StreamResponseSchema, JSON.parse(json));
  return encodeMessageText(StreamResponseSchema, withoutExtensions(response, hidden));
}
