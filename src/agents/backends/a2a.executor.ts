import { setTimeout as delay } from 'node:timers/promises';
import type { RequestOptions } from '@a2a-js/sdk/client';
import type { JsonObject } from '@bufbuild/protobuf';
import {
  EXTENSION_URIS,
  encodeMessage,
  MessageSchema,
  type StreamResponse,
  type Task,
  TaskState,
} from '../../protocol/index.js';
import { status } from '../agent.events.js';
import { type AgentEvent, AgentExecutor, AgentFailure, type TurnContext } from '../agent.executor.js';
import { A2AClient } from './a2a.client.js';
import { backendHeaders, notBegun } from './backend.client.js';
import type { BackendOf } from './backend.schema.js';
import { recordWithSecrets } from './secret.reference.js';
import { REMOTE, remoteOf, turnKey } from './turn.request.js';

/** Tries in a row to find the remote task again. */
const MOST_FAILURES = 6;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5_000;
const CANCEL_MS = 10_000;

/** What is noted down of the task on the other side. */
interface RemoteTask {
  readonly taskId: string;
  readonly contextId: string;
  /** The turn that was sent there. */
  readonly trigger: number;
}

/** Listed at the other side, which tells of these where it knows them; our own clients choose for themselves. */
const OWN_EXTENSIONS: ReadonlySet<string> = new Set(Object.values(EXTENSION_URIS));

/** The SDK's gRPC client takes no message over 4 MiB. */
const TOO_LARGE = 'The agent gave an answer that is too large.';
const RESOURCE_EXHAUSTED = 8;

const ENDED = new Set([TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELED, TaskState.REJECTED]);

/**
 * Another A2A agent, with our durable task in front of it.
 *
 *   send --first event--> noted down --events--> passed on, to a state that ends the turn
 *                            |  \--stream breaks, or ends early--> resubscribe, else look again and again
 *                            \--our replica dies--> the next one resubscribes to the noted task
 *   cancel --> the remote task is cancelled
 */
export class A2AExecutor extends AgentExecutor {
  readonly #client: A2AClient;

  constructor(private readonly backend: BackendOf<'a2a'>) {
    super();
    this.#client = new A2AClient(backend);
  }

  async *execute(turn: TurnContext): AsyncIterable<AgentEvent> {
    const known = remoteOf<RemoteTask>(turn.task.metadata);
    const headers = {
      'A2A-Extensions': [...OWN_EXTENSIONS].join(','),
      ...(await backendHeaders(this.backend, turn, this.backend.url)),
    };
    const options = { signal: turn.signal, serviceParameters: headers };
    const remote = new RemoteTurn(known?.trigger === turn.trigger ? known.taskId : undefined);
    const onAbort = () => this.#cancel(remote.taskId, turn, headers);
    turn.signal.addEventListener('abort', onAbort, { once: true });
    try {
      if (remote.taskId === undefined) {
        const message = await this.#message(turn, known);
        yield* this.#pass(this.#send(message, options), remote, turn);
      }
      if (!remote.rests) yield* this.#follow(remote, turn, options);
    } finally {
      turn.signal.removeEventListener('abort', onAbort);
    }
  }

  override async abandon(task: Task): Promise<void> {
    const taskId = remoteOf<RemoteTask>(task.metadata)?.taskId;
    if (taskId === undefined) return;
    const serviceParameters = recordWithSecrets(this.backend.headers);
    await this.#client.cancel(taskId, { signal: AbortSignal.timeout(CANCEL_MS), serviceParameters });
  }

  /** The message under an id of this turn's own: the same after a crash, so that a careful agent takes it once. */
  async #message(turn: TurnContext, known: Partial<RemoteTask> | undefined): Promise<JsonObject> {
    const { message } = turn;
    const before =
      known ?? (await turn.earlierTasks(1)).map((task) => remoteOf<RemoteTask>(task.metadata))[0];
    const sent = { ...message, messageId: turnKey(turn), taskId: known?.taskId ?? '', referenceTaskIds: [] };
    return encodeMessage(MessageSchema, { ...sent, contextId: before?.contextId ?? '' });
  }

  async *#send(message: JsonObject, options: RequestOptions): AsyncIterable<StreamResponse> {
    for (let attempt = 0; ; attempt++) {
      try {
        yield* this.#client.send(message, options);
        return;
      } catch (error) {
        if (attempt >= 3 || !notBegun(error)) throw error;
        await pause(attempt, options.signal!);
      }
    }
  }

  /** Passes events on. A break is an error only as long as nothing is known of the remote task. */
  async *#pass(events: AsyncIterable<StreamResponse>, remote: RemoteTurn, turn: TurnContext) {
    try {
      for await (const event of events) {
        if (remote.note(event)) yield noted(remote, turn);
        yield* passed(event);
        if (remote.rests) return;
      }
    } catch (error) {
      if (turn.signal.aborted) throw error;
      if (isTooLarge(error)) throw new AgentFailure(TOO_LARGE, { cause: error });
      if (remote.taskId === undefined)
        throw new AgentFailure('The agent cannot be reached.', { cause: error });
    }
  }

  /** The remote task from wherever it is now, to where the turn ends. */
  async *#follow(remote: RemoteTurn, turn: TurnContext, options: RequestOptions): AsyncIterable<AgentEvent> {
    if (remote.taskId === undefined) throw new AgentFailure('The agent gave no answer.');
    let last = '';
    for (let failures = 0; !remote.rests; failures++) {
      for await (const event of this.#pass(this.#client.resubscribe(remote.taskId, options), remote, turn)) {
        failures = 0;
        yield event;
      }
      if (remote.rests) return;
      try {
        const event = await this.#client.get(remote.taskId, options);
        remote.note(event);
        const now = remote.state === undefined ? '' : TaskState[remote.state];
        if (remote.rests || now !== last) yield* passed(event);
        last = now;
        failures = 0;
      } catch (error) {
        if (turn.signal.aborted) throw error;
        if (isTooLarge(error)) throw new AgentFailure(TOO_LARGE, { cause: error });
        if (failures >= MOST_FAILURES)
          throw new AgentFailure('The agent cannot be reached any more.', { cause: error });
      }
      if (!remote.rests) await pause(failures, turn.signal);
    }
  }

  #cancel(taskId: string | undefined, turn: TurnContext, headers: Record<string, string>): void {
    const { reason } = turn.signal;
    if (taskId === undefined || reason === 'lease-lost' || reason === 'shutdown') return;
    const options = { signal: AbortSignal.timeout(CANCEL_MS), serviceParameters: headers };
    this.#client.cancel(taskId, options).catch(() => {}); // It has ended, or is out of reach: ours ends all the same.
  }
}

/** What is known of the task on the other side. */
class RemoteTurn {
  contextId = '';
  state: TaskState | undefined;
  #answered = false;

  constructor(public taskId: string | undefined) {}

  /** The turn is over as far as the other side is concerned. */
  get rests(): boolean {
    return (
      this.#answered ||
      this.state === TaskState.INPUT_REQUIRED ||
      (this.state !== undefined && ENDED.has(this.state))
    );
  }

  /** True: the task was not known before. */
  note({ payload }: StreamResponse): boolean {
    const before = this.taskId;
    if (payload.case === 'message') this.#answered = true;
    else if (payload.case === 'task') {
      this.#is(payload.value.id, payload.value.contextId);
      this.state = payload.value.status?.state;
    } else if (payload.value) {
      this.#is(payload.value.taskId, payload.value.contextId);
      if (payload.case === 'statusUpdate') this.state = payload.value.status?.state;
    }
    return before === undefined && this.taskId !== undefined;
  }

  #is(taskId: string, contextId: string): void {
    this.taskId ??= taskId;
    this.contextId ||= contextId;
  }
}

function noted({ taskId = '', contextId }: RemoteTurn, { trigger }: TurnContext): AgentEvent {
  const remote: RemoteTask = { taskId, contextId, trigger };
  return status(TaskState.WORKING, undefined, { [REMOTE]: { ...remote } });
}

/** What the other side said, without what is its own affair: history, and metadata but for that of extensions. */
function* passed({ payload }: StreamResponse): Iterable<AgentEvent> {
  switch (payload.case) {
    case 'task':
      yield* snapshot(payload.value);
      return;
    case 'statusUpdate':
      if (payload.value.status?.state === TaskState.SUBMITTED) return;
      yield { case: 'statusUpdate', value: { status: payload.value.status, metadata: told(payload.value) } };
      return;
    case 'artifactUpdate':
    case 'message':
      yield payload;
  }
}

function* snapshot(task: Task): Iterable<AgentEvent> {
  const { artifacts, status: now } = task;
  for (const artifact of artifacts) yield { case: 'artifactUpdate', value: { artifact } };
  if (now && now.state !== TaskState.SUBMITTED) {
    yield { case: 'statusUpdate', value: { status: now, metadata: told(task) } };
  }
}

/** Of the metadata only what the service's own extensions define. */
function told({ metadata = {} }: { metadata?: JsonObject }): JsonObject | undefined {
  const own = Object.entries(metadata).filter(([uri]) => OWN_EXTENSIONS.has(uri));
  return own.length > 0 ? Object.fromEntries(own) : undefined;
}

function isTooLarge(error: unknown): boolean {
  const { code, details } = ((error as Error).cause ?? {}) as { code?: number; details?: string };
  return code === RESOURCE_EXHAUSTED && /larger than max/.test(details ?? '');
}

async function pause(failures: number, signal: AbortSignal): Promise<void> {
  await delay(Math.min(FIRST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS), undefined, { signal });
}
