import { isMessage, type Message } from '@bufbuild/protobuf';
import { Injectable } from '@nestjs/common';
import { TokenBuckets } from '../auth/index.js';
import { Config } from '../config/index.js';
import {
  A2AError,
  type CallContext,
  type EventStream,
  isStreaming,
  type Principal,
  SendMessageRequestSchema,
  TaskState,
} from '../protocol/index.js';
import { TaskStore } from '../tasks/index.js';

/** How much of a second's calls may come at once. */
const BURST = 2;
/** When to look again whether a stream or task has ended. */
const LATER_S = 5;
/** Tasks that an agent works on; those that wait for somebody cost nothing. */
const BUSY = [TaskState.SUBMITTED, TaskState.WORKING] as const;

/**
 * How much one caller may have of one agent: calls a second and open streams, counted on each replica, and tasks
 * at work, counted in the database. Two tasks that are sent at the same moment may both get the last place.
 */
@Injectable()
export class CallerLimits {
  readonly #calls: TokenBuckets | undefined;
  readonly #streams = new Map<string, number>();

  constructor(
    private readonly config: Config,
    private readonly store: TaskStore,
  ) {
    const rate = config.limitRequests;
    this.#calls = rate > 0 ? new TokenBuckets({ rate, capacity: rate * BURST }) : undefined;
  }

  /** @throws A2AError `rateLimited` for a call more than allowed */
  countCall(principal: Principal, agentId: string): void {
    const retryAfter = this.#calls?.take(keyOf(principal, agentId)) ?? 0;
    if (retryAfter > 0) throw exceeded('calls', retryAfter);
  }

  /** @throws A2AError `rateLimited` for a task more than allowed. Messages to a task are part of it. */
  async checkTasks({ principal, agent }: CallContext, request: Message): Promise<void> {
    const { limitTasks } = this.config;
    if (limitTasks === 0 || !isMessage(request, SendMessageRequestSchema) || request.message?.taskId) return;
    const scope = { organisation: principal.organisation, owner: principal.subject, agent };
    const pages = await Promise.all(BUSY.map((state) => this.store.list({ scope, state, limit: 1 })));
    if (pages.reduce((sum, { total }) => sum + total, 0) >= limitTasks)
      throw exceeded('tasks at work', LATER_S);
  }

  /** Counts a stream, where streams are limited, until it is let go. @throws A2AError `rateLimited` for one too many */
  openStream({ operation, principal, agent }: CallContext): (() => void) | undefined {
    const { limitStreams } = this.config;
    if (limitStreams === 0 || !isStreaming(operation)) return undefined;
    const key = keyOf(principal, agent);
    const open = this.#streams.get(key) ?? 0;
    if (open >= limitStreams) throw exceeded('open streams', LATER_S);
    this.#streams.set(key, open + 1);
    return once(() => this.#closeStream(key));
  }

  #closeStream(key: string): void {
    const left = (this.#streams.get(key) ?? 1) - 1;
    if (left > 0) this.#streams.set(key, left);
    else this.#streams.delete(key);
  }
}

/** The stream, and a word when it is over, however it ends. */
export function untilOver(stream: EventStream, over: () => void): EventStream {
  const iterator = stream[Symbol.asyncIterator]();
  const ended = <T>(result: T): T => {
    over();
    return result;
  };
  return {
    [Symbol.asyncIterator]: () => ({
      next: () =>
        iterator.next().then(
          (result) => (result.done ? ended(result) : result),
          (error) => Promise.reject(ended(error)),
        ),
      return: async () => ended((await iterator.return?.()) ?? { done: true, value: undefined }),
    }),
  };
}

const exceeded = (limit: string, retryAfter: number) =>
  new A2AError('rateLimited', {
    message: `Too many ${limit} for this caller`,
    metadata: { limit },
    retryAfter,
  });

const keyOf = ({ organisation, subject }: Principal, agentId: string) =>
  JSON.stringify([organisation, subject, agentId]);

function once(work: () => void): () => void {
  let done = false;
  return () => {
    if (!done) work();
    done = true;
  };
}
