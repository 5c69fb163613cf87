import {
  type EventStream,
  hiddenExtensions,
  type ListTasksResponse,
  type Message,
  type SendMessageResponse,
  type StreamEvent,
  type Task,
  withoutExtensions,
} from '../protocol/index.js';
import type { Call } from './call.js';

/** What tasks and messages can be in. */
type Telling = Task | SendMessageResponse | ListTasksResponse;
type Hidden = ReadonlySet<string>;

/**
 * A reply without the data of extensions that its caller has not activated (specification 4.6). The log has them
 * all: another reader may have. What has no such data is passed on as it is.
 */
export function shownReply<T extends object>(reply: T, { extensions }: Pick<Call, 'extensions'>): T {
  const hidden = hiddenExtensions(extensions);
  if (hidden.size === 0) return reply;
  if (Symbol.asyncIterator in reply) return new ShownStream(reply as EventStream, hidden) as EventStream as T;
  const telling = reply as Partial<Telling>;
  switch (telling.$typeName) {
    case 'lf.a2a.v1.Task':
      return withoutExtensions(telling as Task, hidden) as T;
    case 'lf.a2a.v1.SendMessageResponse':
      return shownAnswer(telling as SendMessageResponse, hidden) as T;
    case 'lf.a2a.v1.ListTasksResponse': {
      const { tasks } = telling as ListTasksResponse;
      return { ...reply, tasks: tasks.map((task) => withoutExtensions(task, hidden)) };
    }
    default:
      return reply;
  }
}

function shownAnswer(reply: SendMessageResponse, hidden: Hidden): SendMessageResponse {
  const { payload } = reply;
  if (payload.case === undefined) return reply;
  const value = withoutExtensions<Task | Message>(payload.value, hidden);
  return { ...reply, payload: { case: payload.case, value } as SendMessageResponse['payload'] };
}

/** Not a generator: `return` has to end a wait for the next event. */
class ShownStream implements AsyncIterableIterator<readonly StreamEvent[]> {
  readonly #events: AsyncIterator<readonly StreamEvent[]>;

  constructor(
    stream: EventStream,
    private readonly hidden: Hidden,
  ) {
    this.#events = stream[Symbol.asyncIterator]();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<readonly StreamEvent[]>> {
    return this.#events.next().then((step) => {
      if (step.done || step.value.every(({ extensions }) => extensions.length === 0)) return step;
      return { done: false, value: step.value.map((event) => event.without(this.hidden)) };
    });
  }

  async return(): Promise<IteratorResult<readonly StreamEvent[]>> {
    await this.#events.return?.();
    return { done: true, value: undefined };
  }
}
