import { Logger } from '@nestjs/common';
import { type AgentEvents, AgentExecutor, AgentFailure, type TurnContext } from '../agent.executor.js';

/** Puts a total time around an agent's turns, and tells the log why a back end failed. */
export class LimitedExecutor extends AgentExecutor {
  constructor(
    private readonly agent: string,
    private readonly inner: AgentExecutor,
    /** Milliseconds; undefined is no limit. */
    private readonly totalMs?: number,
  ) {
    super();
    if (inner.cancel) this.cancel = (turn) => inner.cancel!(turn);
    if (inner.abandon) this.abandon = (task) => inner.abandon!(task);
  }

  async *execute(turn: TurnContext): AsyncIterable<AgentEvents> {
    const over = new AbortController();
    const signal = either(turn.signal, over.signal);
    const limited: TurnContext = Object.create(turn, { signal: { value: signal } });
    const timer = this.totalMs && setTimeout(() => over.abort(), this.totalMs);
    try {
      yield* until(over.signal, this.inner.execute(limited));
    } catch (error) {
      if (turn.signal.aborted) return;
      if (!over.signal.aborted) throw this.#logged(error, turn);
    } finally {
      clearTimeout(timer);
    }
    if (over.signal.aborted) throw new AgentFailure('The agent took too long.');
  }

  #logged(error: unknown, turn: TurnContext): unknown {
    if (error instanceof AgentFailure && error.cause !== undefined) {
      const { message, cause } = error;
      LOG.warn({ message: `back end: ${message}`, agent: this.agent, task: turn.task.id, cause });
    }
    return error;
  }
}

/** Not `AbortSignal.any`: it has Node keep a turn that is long over until the whole heap is collected. */
function either(...signals: AbortSignal[]): AbortSignal {
  const joined = new AbortController();
  for (const signal of signals) {
    const forward = () => joined.abort(signal.reason);
    if (signal.aborted) forward();
    else signal.addEventListener('abort', forward, { once: true });
  }
  return joined.signal;
}

/** The events that come before the signal. An agent that does not heed it is left to itself: nobody hears it any more. */
async function* until<T>(over: AbortSignal, events: AsyncIterable<T>): AsyncIterable<T> {
  const iterator = events[Symbol.asyncIterator]();
  let leave = () => {};
  over.addEventListener('abort', () => leave(), { once: true });
  try {
    while (!over.aborted) {
      const step = await new Promise<IteratorResult<T> | undefined>((resolve, reject) => {
        leave = () => resolve(undefined);
        iterator.next().then(resolve, reject);
      });
      if (!step || step.done) return;
      yield step.value;
    }
  } finally {
    const left = (async () => iterator.return?.())();
    if (over.aborted) left.catch((cause: unknown) => LOG.debug({ message: 'an agent failed late', cause }));
    else await left;
  }
}

const LOG = new Logger('BackEnd');
