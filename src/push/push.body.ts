import {
  decodeMessage,
  EXTENSION_URIS,
  encodeMessageText,
  hiddenExtensions,
  StreamResponseSchema,
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

/**
 * Makes the bodies of a claim's events, undefined for those that are not posted. Since 1.0 a body is the event
 * as it stands in the log; before, it was the whole task at each change of its status.
 */
export class PushBodies {
  constructor(private readonly store: Pick<TaskStore, 'events'>) {}

  async of({ target, taskId, events }: PushClaim): Promise<ReadonlyMap<number, string>> {
    const posted = events.filter(isPosted);
    const hidden = hiddenExtensions(target.extensions);
    if (target.version === '1.0') return new Map(posted.map(({ seq, json }) => [seq, bare(json, hidden)]));
    const wanted = new Set(posted.filter(({ json }) => STATUS.test(json)).map(({ seq }) => seq));
    return this.#tasks(taskId, wanted, hidden);
  }

  async #tasks(taskId: string, wanted: ReadonlySet<number>, hidden: ReadonlySet<string>) {
    const bodies = new Map<number, string>();
    const last = Math.max(0, ...wanted);
    const [first, ...rest] = last > 0 ? await this.store.events(taskId, 0, last) : [];
    if (first?.response.payload.case !== 'task') return bodies;
    const fold = new TaskFold(first.response.payload.value);
    for (const event of [first, ...rest]) {
      if (event !== first) fold.apply(event.response);
      if (wanted.has(event.seq!)) bodies.set(event.seq!, v03.taskBody(withoutExtensions(fold.task, hidden)));
    }
    return bodies;
  }
}

/** The event without data of extensions that its receiver has not asked for. */
function bare(json: string, hidden: ReadonlySet<string>): string {
  if (!MAYBE_EXTENDED.test(json)) return json;
  const response = decodeMessage(StreamResponseSchema, JSON.parse(json));
  return encodeMessageText(StreamResponseSchema, withoutExtensions(response, hidden));
}
