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
import type { PushTarget, TaskStore } from '../tasks/index.js';
import { PastTasks } from './past.tasks.js';
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
  readonly #past: PastTasks;

  constructor(store: Pick<TaskStore, 'events' | 'snapshot'>) {
    this.#past = new PastTasks(store);
  }

  of(claim: PushClaim): BodyOf {
    const hidden = hiddenExtensions(claim.target.extensions);
    if (claim.target.version === '1.0')
      return (event) => (isPosted(event) ? bare(event.json, hidden) : undefined);
    const written = (task: Task) => v03.taskBody(withoutExtensions(task, hidden));
    return (event) =>
      STATUS.test(event.json) ? this.#past.at(claim, event, written) : this.#past.pass(claim, event);
  }
}

/** The event without data of extensions that its receiver has not asked for. */
function bare(json: string, hidden: ReadonlySet<string>): string {
  if (!MAYBE_EXTENDED.test(json)) return json;
  const response = decodeMessage(StreamResponseSchema, JSON.parse(json));
  return encodeMessageText(StreamResponseSchema, withoutExtensions(response, hidden));
}
