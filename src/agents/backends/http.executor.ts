import { EventSourceParserStream } from 'eventsource-parser/stream';
import type { Response } from 'undici';
import { TaskState } from '../../protocol/index.js';
import { status } from '../agent.events.js';
import {
  type AgentEvent,
  type AgentEvents,
  AgentExecutor,
  AgentFailure,
  type TurnContext,
} from '../agent.executor.js';
import { backendHeaders, callBackend } from './backend.client.js';
import type { BackendOf } from './backend.schema.js';
import { limitedText, linesOf } from './byte.lines.js';
import type { Callbacks } from './callbacks.js';
import { endsTurn, readEvent, readEventText, readReply } from './plain.event.js';
import { REMOTE, remoteOf, turnKey, turnRequestInContext } from './turn.request.js';

const RETRIES = 3;

/** What is noted down once the agent has taken the turn and answers later. */
interface AcceptedTurn {
  readonly trigger: number;
  /** Number of the last delivery that was read. */
  readonly read: number;
}

/**
 * An agent of any language behind HTTP. A turn is one POST of {@link turnRequest}; the answer is
 *
 *   200 application/json, text/plain --------> the whole answer
 *   200 text/event-stream, x-ndjson ---------> events as they come, to the one that ends the turn
 *   202 -------------------------------------> events are posted to `callbackUrl` later
 *
 * Cancelling closes the connection, and DELETEs the `Location` that a 202 named.
 */
export class HttpExecutor extends AgentExecutor {
  constructor(
    private readonly backend: BackendOf<'http'>,
    private readonly callbacks: Callbacks,
    /** The operator wants turns run again after a crash even where the agent may have begun them. */
    private readonly mayRepeat: boolean,
  ) {
    super();
  }

  async *execute(turn: TurnContext): AsyncIterable<AgentEvents> {
    const accepted = remoteOf<AcceptedTurn>(turn.task.metadata);
    if (turn.attempt > 1 && accepted?.trigger === turn.trigger) {
      yield* this.#later(turn, accepted.read ?? 0);
      return;
    }
    if (turn.crashes > 0 && !this.mayRepeat) {
      throw new AgentFailure('The service was interrupted while the agent was working.');
    }
    const headers = await backendHeaders(this.backend, turn, this.backend.url);
    const callback = await this.callbacks.addressOf({ taskId: turn.task.id, turn: turn.trigger });
    const response = await callBackend({
      url: this.backend.url,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream, application/x-ndjson',
        'idempotency-key': turnKey(turn),
        ...headers,
      },
      body: JSON.stringify(await turnRequestInContext(turn, this.backend.earlierTasks, callback)),
      signal: turn.signal,
      retries: RETRIES,
    });
    if (response.status !== 202) {
      yield* this.#answer(response);
      return;
    }
    await response.body?.cancel();
    yield noted({ trigger: turn.trigger, read: 0 });
    const stop = this.#deleteOnCancel(turn, response, headers);
    try {
      yield* this.#later(turn, 0);
    } finally {
      stop();
    }
  }

  async *#answer(response: Response): AsyncIterable<AgentEvent> {
    const type = (response.headers.get('content-type') ?? '').split(';', 1)[0]!.trim().toLowerCase();
    const body = response.body ?? new ReadableStream<Uint8Array>({ start: (stream) => stream.close() });
    const text = unbroken(limitedText(body as AsyncIterable<Uint8Array>, this.backend.maxOutputBytes));
    if (type === 'text/event-stream') yield* events(sseData(text), readEventText);
    else if (/^application\/(x-ndjson|jsonl|x-jsonlines)$/.test(type))
      yield* events(linesOf(text), readEventText);
    else if (type === 'text/plain') yield* readReply(JSON.stringify({ text: await whole(text) }));
    else yield* readReply(await whole(text));
  }

  /**
   * Events of a turn that the agent has taken, from the deliveries after number `read`. What a delivery says is committed
   * with the note that it was read: whoever takes the turn over says none of it twice.
   */
  async *#later(turn: TurnContext, read: number): AsyncIterable<AgentEvents> {
    const { trigger, task, signal } = turn;
    for await (const { n, events } of this.callbacks.follow(
      { taskId: task.id, turn: trigger },
      read,
      signal,
    )) {
      const said = events.map(readEvent);
      const end = said.findIndex(endsTurn);
      if (end >= 0) {
        yield said.slice(0, end + 1);
        return;
      }
      yield [...said, noted({ trigger, read: n })];
    }
  }

  /** Only where it was before: credentials go nowhere else. */
  #deleteOnCancel(turn: TurnContext, response: Response, headers: Record<string, string>): () => void {
    const location = response.headers.get('location');
    const isUrl = location !== null && URL.canParse(location, this.backend.url);
    const url = isUrl && new URL(location, this.backend.url);
    if (!url || url.origin !== new URL(this.backend.url).origin) return () => {};
    const onAbort = () => {
      if (turn.signal.reason === 'lease-lost' || turn.signal.reason === 'shutdown') return;
      const signal = AbortSignal.timeout(10_000);
      callBackend({ url: url.href, method: 'DELETE', headers, signal, retries: 1 })
        .then((answer) => answer.body?.cancel())
        .catch(() => {});
    };
    turn.signal.addEventListener('abort', onAbort, { once: true });
    return () => turn.signal.removeEventListener('abort', onAbort);
  }
}

function noted(accepted: AcceptedTurn): AgentEvent {
  return status(TaskState.WORKING, undefined, { [REMOTE]: { ...accepted } });
}

async function* events(
  texts: AsyncIterable<string>,
  read: (text: string) => AgentEvent,
): AsyncIterable<AgentEvent> {
  for await (const text of texts) {
    const event = read(text);
    yield event;
    if (endsTurn(event)) return;
  }
  throw new AgentFailure('The agent broke off its answer.');
}

async function* sseData(chunks: AsyncIterable<string>): AsyncIterable<string> {
  const stream = ReadableStream.from(chunks).pipeThrough(new EventSourceParserStream());
  for await (const { data } of stream) yield data;
}

/** A connection that breaks is no end of the answer. */
async function* unbroken(chunks: AsyncIterable<string>): AsyncIterable<string> {
  try {
    yield* chunks;
  } catch (error) {
    if (error instanceof AgentFailure) throw error;
    throw new AgentFailure('The agent broke off its answer.', { cause: error });
  }
}

async function whole(chunks: AsyncIterable<string>): Promise<string> {
  const all: string[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return all.join('');
}
