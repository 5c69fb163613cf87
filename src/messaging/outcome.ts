import {
  A2AError,
  type CallContext,
  type Message,
  Role,
  type StreamEvent,
  type StreamResponse,
  type Task,
} from '../protocol/index.js';
import { type Tail, TaskFold } from '../tasks/index.js';
import { hasReason, REASONS } from './failure.reason.js';
import { type Accepted, isAtRest } from './intake.js';

type Batch = IteratorResult<readonly StreamEvent[]>;

/**
 * What comes of an accepted message: the task as it goes on, or the agent's direct reply. Also the iterator of
 * the log from the message on; whoever has it returns it.
 */
export class Outcome implements AsyncIterableIterator<readonly StreamEvent[]> {
  /** A batch that was asked for and not yet handed out. */
  #ahead: Promise<Batch> | undefined;

  constructor(private readonly accepted: Accepted) {}

  private get tail(): Tail {
    return this.accepted.tail;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Batch> {
    const ahead = this.#ahead;
    this.#ahead = undefined;
    return ahead ?? this.tail.next();
  }

  return(): Promise<Batch> {
    return this.tail.return();
  }

  /**
   * The task once it rests (ended, or waiting for somebody), or the direct reply. The running task after `capMs`,
   * and when the call is over.
   *
   * @throws A2AError `invalidAgentResponse` when the agent gave no answer
   */
  async atRest(capMs: number, call: Pick<CallContext, 'onOver'>): Promise<Task | Message> {
    const { stored, moved, turn } = this.accepted;
    const fold = new TaskFold(stored.task);
    if (moved && isAtRest(fold.state)) return answered(fold.task);
    const stop = () => void this.return();
    const cap = setTimeout(() => {
      turn?.announce();
      stop();
    }, capMs);
    call.onOver(stop);
    try {
      for await (const batch of this) {
        for (const { response } of batch) {
          const message = directReply(response);
          if (message) return message;
          fold.apply(response);
          if (response.payload.case === 'statusUpdate' && isAtRest(fold.state)) return answered(fold.task);
        }
      }
      return fold.task;
    } finally {
      clearTimeout(cap);
      stop();
    }
  }

  /**
   * The task as stored, at once. An agent that may reply directly has its window to do so first; after that
   * the task is shown and stays one.
   *
   * @throws A2AError `invalidAgentResponse` when the agent gave no answer within the window
   */
  async first(): Promise<Task | Message> {
    const { agent, stored, turn } = this.accepted;
    if (!agent.settings.directReplies || !turn) return stored.task;
    const batch = await this.#peek(agent.settings.directReplyWindowMs);
    if (!batch && turn.announce()) return stored.task;
    const events = (batch ?? (await this.#peek())!).value as readonly StreamEvent[] | undefined;
    const message = events?.[0] && directReply(events[0].response);
    if (message) return message;
    const fold = new TaskFold(stored.task);
    for (const { response } of events ?? []) fold.apply(response);
    answered(fold.task);
    return stored.task;
  }

  /** The next batch, left to be handed out by `next`; undefined when it does not come in time. */
  async #peek(ms?: number): Promise<Batch | undefined> {
    this.#ahead ??= this.tail.next();
    if (ms === undefined) return this.#ahead;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(resolve, ms, undefined);
    });
    try {
      return await Promise.race([this.#ahead, late]);
    } finally {
      clearTimeout(timer);
    }
  }
}

function directReply({ payload }: StreamResponse): Message | undefined {
  return payload.case === 'message' && payload.value.role === Role.AGENT ? payload.value : undefined;
}

function answered(task: Task): Task {
  if (!hasReason(task, REASONS.invalidAgentResponse)) return task;
  throw new A2AError('invalidAgentResponse', { metadata: { taskId: task.id } });
}
