import { createHash } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { Injectable } from '@nestjs/common';
import { type AgentDefinition, AgentRegistry } from '../agents/index.js';
import {
  A2AError,
  type CallContext,
  canonicalHash,
  invalidField,
  type Message,
  type SendMessageRequest,
  SendMessageRequestSchema,
  StreamEvent,
  type StreamResponse,
  type Task,
  TaskSchema,
  TaskState,
} from '../protocol/index.js';
import {
  Clock,
  Ids,
  isTerminal,
  type MessageIdentity,
  type PushTarget,
  type StoredTask,
  scopeOf,
  type Tail,
  TaskFeed,
  type TaskScope,
  TaskStore,
  type TurnRequest,
} from '../tasks/index.js';
import { checkMediaTypes } from './media.types.js';
import { countState } from './task.metrics.js';
import type { Turn } from './turn.js';
import { TurnRunner } from './turn.runner.js';
import { VersionChoice } from './version.choice.js';

/** A message that was taken in, with the log from there on. Whoever gets it closes `tail`. */
export interface Accepted {
  readonly agent: AgentDefinition;
  /** The task with the message in it. */
  readonly stored: StoredTask;
  /** The task has entered a status since the message: if that is one of rest, it answers the message. */
  readonly moved: boolean;
  /** What happens to the task after `stored`. */
  readonly tail: Tail;
  /** The turn, where it runs on this replica. */
  readonly turn?: Turn;
  /** The message had been taken in before; nothing was done again. */
  readonly replay: boolean;
}

/** A repeat of a message that the agent had answered directly. */
export interface Answered {
  readonly message: Message;
}

/** Takes a caller's message into the log and starts the turn that it asks for (specification 3.1.1, 3.4). */
@Injectable()
export class Intake {
  readonly #choice: VersionChoice;

  constructor(
    agents: AgentRegistry,
    private readonly store: TaskStore,
    private readonly feed: TaskFeed,
    private readonly runner: TurnRunner,
    private readonly clock: Clock,
    private readonly ids: Ids,
  ) {
    this.#choice = new VersionChoice(agents, store);
  }

  /**
   * Resolves once the message is committed, and with it `push`, where the message brought such a config.
   *
   * @throws A2AError `taskNotFound`, `unsupportedOperation` (the task has ended; the version of the agent is gone or
   *   takes no new contexts), `contentTypeNotSupported`, `invalidParams` (another context or version; a messageId
   *   used for other content), `payloadTooLarge` (the task has grown too large), `permissionDenied`,
   *   `notFound` (the agent was taken away meanwhile), `unavailable`
   */
  async accept(
    request: SendMessageRequest,
    call: CallContext,
    push?: PushTarget,
  ): Promise<Accepted | Answered> {
    const message = request.message!;
    const scope = scopeOf(call);
    const before = message.taskId ? await this.#before(message, scope) : undefined;
    const { agent, refusal } = before
      ? this.#choice.forTask(before, call)
      : await this.#choice.forNewTask(message, scope, call);
    const incoming: Incoming = {
      agent,
      message,
      scope,
      identity: agent.settings.idempotentSend ? identify(request, call) : undefined,
      request: turnRequest(request, call, agent),
      push,
    };
    if (refusal) return this.#unlessKnown(incoming, refusal);
    checkMediaTypes(message, agent);
    if (before && isTooLarge(before, agent)) return this.#unlessKnown(incoming, tooLarge(before, agent));
    return before ? this.#followUp(incoming, before) : this.#newTask(incoming);
  }

  async #before({ taskId, contextId }: Message, scope: TaskScope): Promise<StoredTask> {
    const before = await this.store.read(taskId, scope);
    if (!before) throw new A2AError('taskNotFound', { metadata: { taskId } });
    if (contextId && contextId !== before.task.contextId) {
      throw invalidField('message.contextId', 'is not the context of the task');
    }
    return before;
  }

  async #newTask(incoming: Incoming): Promise<Accepted | Answered> {
    const { scope, identity, request, agent, message, push } = incoming;
    const task = this.#submitted(message);
    const tail = this.feed.follow(task.id, 1);
    try {
      const agentVersion = agent.version;
      const lease = await this.store.create({ scope, agentVersion, task, request, identity, push });
      if (!lease) {
        void tail.return();
        return await this.#repeat(incoming);
      }
      tail.seek(1);
      countState(agent.id, TaskState.SUBMITTED);
      const stored = { task, version: 1, size: 0, agentVersion };
      const trigger = new StreamEvent(messageEvent(task.history[0]!), 1);
      const turn = this.runner.start({
        lease,
        written: 0,
        scope,
        agentVersion,
        attempt: 1,
        crashes: 0,
        cancelRequested: false,
        stored,
        trigger,
        inboxSeq: 1,
        request,
      });
      return { agent, stored, moved: false, tail, turn, replay: false };
    } catch (error) {
      void tail.return();
      throw error;
    }
  }

  #submitted(message: Message): Task {
    const id = this.ids.next();
    const contextId = message.contextId || this.ids.next();
    return create(TaskSchema, {
      id,
      contextId,
      status: { state: TaskState.SUBMITTED, timestamp: timestampFromMs(this.clock.now()) },
      history: [{ ...message, taskId: id, contextId }],
    });
  }

  async #followUp(incoming: Incoming, { task }: StoredTask): Promise<Accepted | Answered> {
    const { scope, identity, request, agent, message, push } = incoming;
    const { id: taskId, contextId } = task;
    const event = messageEvent({ ...message, taskId, contextId });
    const tail = this.feed.follow(taskId, 0);
    try {
      const mostBytes = agent.settings.maxTaskSize;
      const delivered = await this.store.deliver({
        taskId,
        event,
        request,
        identity,
        scope,
        push,
        mostBytes,
      });
      if (delivered === 'duplicate' || !delivered) {
        void tail.return();
        if (delivered === 'duplicate') return await this.#repeat(incoming);
        return await this.#unlessKnown(incoming, await this.#refusal(taskId, incoming));
      }
      this.feed.publish(taskId, [delivered.event]);
      this.runner.deliver(taskId, delivered.event);
      const claim = delivered.lease && (await this.store.reload(delivered.lease));
      const stored = claim?.stored ?? (await this.store.read(taskId, scope));
      if (!stored) throw new A2AError('taskNotFound', { metadata: { taskId } });
      tail.seek(stored.version);
      const turn = claim ? this.runner.start(claim) : this.runner.get(taskId);
      const moved = !claim && (await this.#moved(stored, delivered.event.seq!));
      return { agent, stored, moved, tail, turn, replay: false };
    } catch (error) {
      void tail.return();
      throw error;
    }
  }

  /** Why a task did not take a message that it seemed to take: what came at the same moment was first. */
  async #refusal(taskId: string, { scope, agent }: Incoming): Promise<A2AError> {
    const stored = await this.store.read(taskId, scope);
    return !stored || isTerminal(stored.task.status!.state) ? hasEnded(taskId) : tooLarge(stored, agent);
  }

  /** A message that is not taken, unless it is a repeat of one that was. */
  async #unlessKnown(incoming: Incoming, refusal: A2AError): Promise<Accepted | Answered> {
    const { identity } = incoming;
    if (identity && (await this.store.findMessage(identity.key))) return this.#repeat(incoming);
    throw refusal;
  }

  /** The task that the same message made before, or the direct answer that it got. */
  async #repeat({ identity, scope, agent }: Incoming): Promise<Accepted | Answered> {
    const known = await this.store.findMessage(identity!.key);
    if (!known)
      throw new A2AError('aborted', { message: 'The message collided with another one', retryAfter: 1 });
    if (known.hash !== identity!.hash) {
      throw invalidField('message.messageId', 'was used before for a message with other content');
    }
    const tail = this.feed.follow(known.taskId, 0);
    const stored = await this.store.read(known.taskId, scope);
    if (stored) {
      const turn = this.runner.get(known.taskId);
      const moved = await this.#moved(stored, known.seq);
      return { agent, stored, moved, tail: tail.seek(stored.version), turn, replay: true };
    }
    void tail.return();
    const answer = (await this.store.events(known.taskId, 1, 1))[0]?.response.payload;
    if (answer?.case === 'message') return { message: answer.value };
    throw new A2AError('taskNotFound', { metadata: { taskId: known.taskId } });
  }

  /** Whether the state of the stored task is one that it entered after the message: older ones answer nothing. */
  async #moved({ task, version }: StoredTask, seq: number): Promise<boolean> {
    const { state } = task.status!;
    return isTerminal(state) || (isAtRest(state) && (await this.store.moved(task.id, seq, version)));
  }
}

interface Incoming {
  readonly agent: AgentDefinition;
  readonly message: Message;
  readonly scope: TaskScope;
  readonly identity?: MessageIdentity;
  readonly request: TurnRequest;
  readonly push?: PushTarget;
}

const hasEnded = (taskId: string) =>
  new A2AError('unsupportedOperation', {
    message: 'The task has ended and takes no more messages',
    metadata: { taskId },
  });

/** What is read at once has to fit into memory, and into one string. */
const isTooLarge = ({ task, size }: StoredTask, { settings }: AgentDefinition) =>
  size > settings.maxTaskSize && !isTerminal(task.status!.state);

const tooLarge = ({ task }: StoredTask, { settings }: AgentDefinition) =>
  new A2AError('payloadTooLarge', {
    message: 'The task has grown too large for more messages; begin a new one',
    metadata: { taskId: task.id, limit: String(settings.maxTaskSize) },
  });

/** The state in which a task rests until somebody acts. */
export function isAtRest(state: TaskState): boolean {
  return isTerminal(state) || state === TaskState.INPUT_REQUIRED || state === TaskState.AUTH_REQUIRED;
}

function messageEvent(value: Message): StreamResponse {
  return { $typeName: 'lf.a2a.v1.StreamResponse', payload: { case: 'message', value } };
}

function turnRequest(
  { configuration, metadata }: SendMessageRequest,
  call: CallContext,
  { settings }: AgentDefinition,
): TurnRequest {
  const modes = configuration?.acceptedOutputModes ?? [];
  return {
    metadata,
    acceptedOutputModes: modes.length > 0 ? modes : undefined,
    extensions: call.extensions.length > 0 ? call.extensions : undefined,
    traceparent: call.traceparent,
    headers: settings.forwardHeaders.length > 0 ? headersOf(call, settings.forwardHeaders) : undefined,
  };
}

function headersOf(call: CallContext, names: readonly string[]): Record<string, string> {
  const given = names.map((name) => [name, call.header?.(name)] as const);
  return Object.fromEntries(given.filter((pair): pair is [string, string] => pair[1] !== undefined));
}

/** What makes a send the same one again: caller, agent and messageId; and its content, without configuration. */
function identify(request: SendMessageRequest, { principal, agent }: CallContext): MessageIdentity {
  const { message, metadata } = request;
  const name = JSON.stringify([principal.organisation, principal.subject, agent, message!.messageId]);
  const content = create(SendMessageRequestSchema, { message, metadata });
  return {
    key: uuidOf(createHash('sha256').update(name).digest('hex')),
    hash: uuidOf(canonicalHash(SendMessageRequestSchema, content)),
  };
}

/** The first half of a digest in the form that a uuid column takes. */
function uuidOf(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`;
}
