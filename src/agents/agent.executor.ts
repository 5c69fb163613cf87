import type { JsonObject, MessageInitShape } from '@bufbuild/protobuf';
import type { Message, Principal, StreamResponseSchema, Task } from '../protocol/index.js';

/**
 * What an agent says, one `StreamResponse` payload at a time. Ids of task and context, the status time, a
 * missing message id and role, and a missing artifact id are filled in by the runner, so that an agent only
 * gives what it knows. Make them with the helpers of `agent.events.ts`.
 */
export type AgentEvent = NonNullable<MessageInitShape<typeof StreamResponseSchema>['payload']>;

/** One event, or several that are committed together or not at all. */
export type AgentEvents = AgentEvent | readonly AgentEvent[];

/** An operator's answer to a task that waits in AUTH_REQUIRED. */
export interface Approval {
  readonly approved: boolean;
  readonly by: string;
  readonly reason?: string;
}

/** Messages that reach the task while its turn runs. Taking one marks it as read by this turn. */
export abstract class Inbox implements AsyncIterable<Message> {
  /** The next unread message, or undefined when there is none right now. Never waits. */
  abstract take(): Message | undefined;
  /** Every message as it arrives; ends when the turn is aborted. */
  abstract [Symbol.asyncIterator](): AsyncIterator<Message>;
}

/** Everything that one turn of a task is given. */
export interface TurnContext {
  /** The task as stored when the turn began, the turn's message included. Not to be changed. */
  readonly task: Task;
  /** The message that started this turn; in a turn that an approval started, the latest message of the caller. */
  readonly message: Message;
  /** The approval that started this turn, if one did. */
  readonly approval?: Approval;
  /** The talk of this task so far, oldest first, `message` included. */
  readonly history: readonly Message[];
  readonly inbox: Inbox;
  /** Aborts on cancel, on the inactivity limit and when the lease is lost. `reason` is a {@link TurnAbort}. */
  readonly signal: AbortSignal;
  readonly acceptedOutputModes: readonly string[];
  /** Metadata of the request (not of the message). */
  readonly metadata: JsonObject;
  /** URIs of the activated extensions. */
  readonly extensions: readonly string[];
  readonly principal: Principal;
  /** Those of the call's headers that the agent's `forwardHeaders` name. None in a turn that an approval started. */
  readonly headers: Readonly<Record<string, string>>;
  /** W3C `traceparent` for calls of the agent: of the turn's span, or of the caller where nothing is traced. */
  readonly traceparent?: string;
  /** Number of the log's entry that started the turn: names the turn within its task, after a crash too. */
  readonly trigger: number;
  /** 1 on the first run of this turn, one more after each crash and each hand-over. */
  readonly attempt: number;
  /** How often the replica that ran this turn died. One that goes down hands its turns over, which is no crash. */
  readonly crashes: number;
  /** The caller's other tasks of the same context, newest first (at most `limit`, default 20). */
  earlierTasks(limit?: number): Promise<Task[]>;
  /** The caller's own tasks that the message refers to; unknown and foreign ids are left out. */
  referencedTasks(): Promise<Task[]>;
}

export type TurnAbort = 'cancelled' | 'inactive' | 'lease-lost' | 'shutdown';

/**
 * The port behind which every agent stands.
 *
 * Ordering: events reach the log in the order yielded. A turn ends when the iterable ends, at a terminal
 * state, or at INPUT_REQUIRED. At AUTH_REQUIRED the agent may go on (it waits by itself) or end (an approval
 * then starts the next turn). A first event that is a Message answers directly, without a task.
 * Errors: a throw fails the task with a generic message; throw {@link AgentFailure} to say more.
 */
export abstract class AgentExecutor {
  abstract execute(turn: TurnContext): AsyncIterable<AgentEvents>;

  /** Called once when the turn is cancelled, beside the abort of `turn.signal`. */
  cancel?(turn: TurnContext): Promise<void>;

  /** Called once when a task is cancelled that waits, its turn ended: for work that waits elsewhere with it. */
  abandon?(task: Task): Promise<void>;
}

/** A failure whose text the caller may read; `cause` goes to the log alone. */
export class AgentFailure extends Error {
  override name = 'AgentFailure';
}
