import type { JsonObject } from '@bufbuild/protobuf';
import type { StreamEvent, StreamResponse, Task, TaskState } from '../protocol/index.js';

/** Whose tasks of which agent: part of every WHERE clause that serves a caller. */
export interface TaskScope {
  readonly organisation: string;
  readonly owner: string;
  readonly agent: string;
  /** Of the call's span, below which that of the statement hangs. */
  readonly traceparent?: string;
}

/** Whose tasks a caller may read: its own, or without an owner those of everybody in the organisation. */
export interface TaskReach {
  readonly organisation: string;
  readonly owner?: string;
  readonly agent: string;
  readonly traceparent?: string;
}

/** The right to write a task: only the newest token of a task is obeyed. */
export interface Lease {
  readonly taskId: string;
  readonly token: number;
}

/** What the agent needs to know of a request beside its message, kept so that a turn can run again. */
export interface TurnRequest {
  readonly metadata?: JsonObject;
  readonly acceptedOutputModes?: readonly string[];
  readonly extensions?: readonly string[];
  /** Of the span that asks for the turn. */
  readonly traceparent?: string;
  /** Headers of the call that the agent is passed, by lower-case names: encrypted where stored, and until the turn ends. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Names a message for idempotent sends: `key` is the caller, agent and messageId, `hash` the content. */
export interface MessageIdentity {
  /** UUID form of a digest. */
  readonly key: string;
  readonly hash: string;
}

/** Where a task's events are posted to, checked and with its secrets encrypted. Comes with the first message. */
export interface PushTarget {
  readonly id: string;
  readonly url: string;
  readonly host: string;
  /** Encrypted; undefined when there is none. */
  readonly secret?: string;
  /** The protocol version that the receiver reads. */
  readonly version: string;
  /** The extensions that were active in the call that made the config: what is posted has their data alone. */
  readonly extensions: readonly string[];
}

/** Most push configs of one task. */
export const MOST_PUSH_CONFIGS = 20;

export interface NewTask {
  readonly scope: TaskScope;
  /** The version of the agent that the task stays with. */
  readonly agentVersion: string;
  /** The log's first event: the SUBMITTED task with the caller's message in its history. */
  readonly task: Task;
  readonly request: TurnRequest;
  /** Undefined where the agent does not want idempotent sends. */
  readonly identity?: MessageIdentity;
  readonly push?: PushTarget;
}

export interface TurnEnd {
  readonly read: number;
  /** Takes the callers' headers away from the requests that it has served: all of them, or up to `read`. */
  readonly forgetsHeaders?: boolean;
}

/** The runner's events, in order, under its lease. */
export interface TurnWrite {
  readonly lease: Lease;
  /** Of the turn's span. */
  readonly traceparent?: string;
  /** How many events this lease has written before these: makes a repeated write harmless. */
  readonly written: number;
  readonly events: readonly StreamResponse[];
  /** The state and its time after the events, when they change it. */
  readonly state?: TaskState;
  readonly statusAt?: number;
  /** The folded task after the events, valid only if the last of them gets number `seq`. */
  readonly snapshot?: { readonly task: Task; readonly seq: number };
  /** Ends the turn unless a message after number `read` waits. */
  readonly end?: TurnEnd;
  /** The turn answered with a direct Message: the task is not shown to anybody. */
  readonly direct?: boolean;
}

export interface Committed {
  readonly events: readonly StreamEvent[];
  /** The turn has ended and the lease is gone; false when a message waits or the write did not ask. */
  readonly ended: boolean;
}

/** A caller's message, or an operator's approval, for a task that is there already. */
export interface Delivery {
  readonly taskId: string;
  readonly event: StreamResponse;
  readonly request: TurnRequest;
  readonly identity?: MessageIdentity;
  /** The owner for a caller's message; undefined for the operator, who may answer any task. */
  readonly scope?: TaskScope;
  /** States in which the task takes it, as long as it waits for somebody; default: every non-terminal one. */
  readonly states?: readonly TaskState[];
  /** The state that the event brings, with its time. */
  readonly state?: TaskState;
  readonly statusAt?: number;
  /** The task takes it only as long as its status is of this time, milliseconds: a wait that is over takes no answer. */
  readonly since?: number;
  /** The task takes it only as long as earlier deliveries come to no more bytes; counted exactly. */
  readonly mostBytes?: number;
  readonly push?: PushTarget;
}

export interface Delivered {
  readonly event: StreamEvent;
  /** Set when no turn was running: the deliverer holds the lease and has to run one. */
  readonly lease?: Lease;
}

/** A task with what its row knows. `events` after `version` are newer. */
export interface StoredTask {
  readonly task: Task;
  readonly version: number;
  /** Characters of JSON that it was read from. */
  readonly size: number;
  /** The version of the agent that the task began on, where it was asked for; tasks of old releases have none. */
  readonly agentVersion?: string;
}

/** Turns that a replica has place for: of an agent, begun on a version of that major number. */
export interface FreePlace {
  readonly agent: string;
  readonly major: string;
}

/** A turn to run, with all that is needed to run it. */
export interface TurnClaim {
  readonly lease: Lease;
  /** How many events were written under this lease before. */
  readonly written: number;
  readonly scope: TaskScope;
  /** The version of the agent that the task began on; tasks of old releases have none. */
  readonly agentVersion?: string;
  /** 1 for the first run of the turn, one more after each crash and each hand-over. */
  readonly attempt: number;
  /** How many of its replicas died; those that went down and handed it over do not count. */
  readonly crashes: number;
  readonly cancelRequested: boolean;
  readonly stored: StoredTask;
  /** The oldest message or approval that no turn has read, with its number. */
  readonly trigger: StreamEvent;
  /** Number of the newest one: what lies between waits in the turn's inbox. */
  readonly inboxSeq: number;
  readonly request: TurnRequest;
}

export interface KnownMessage {
  readonly taskId: string;
  readonly seq: number;
  /** Of its content. */
  readonly hash: string;
}

export interface HeldLease {
  readonly taskId: string;
  readonly cancelRequested: boolean;
  /** Number of the newest message or approval. */
  readonly inboxSeq: number;
}

export interface CancelMark {
  /** A turn is running somewhere; otherwise the task is parked, or waits for a place or a new replica. */
  readonly running: boolean;
}

export interface TaskQuery {
  readonly scope: TaskReach;
  readonly contextId?: string;
  readonly state?: TaskState;
  /** Inclusive, milliseconds since the epoch. */
  readonly statusAfter?: number;
  readonly limit: number;
  /** The last task of the page before: its status time (milliseconds) and id. */
  readonly after?: { readonly statusAt: number; readonly id: string };
}

export interface ChangeQuery {
  readonly scope: TaskReach;
  /** Where the last page ended; undefined from the beginning. */
  readonly after?: ChangePosition;
  readonly limit: number;
  /**
   * Only tasks of which more is known than the message: their agent may still answer with a Message alone, and then there
   * never was a task. The next event is a change.
   */
  readonly decided?: boolean;
}

/** A place in the order in which a caller's tasks changed: transaction and task. */
export interface ChangePosition {
  readonly transaction: number;
  readonly id: string;
}

export interface Changes {
  readonly tasks: readonly StoredTask[];
  /** After the last of the tasks; undefined when there are none. */
  readonly position?: ChangePosition;
}

export interface TaskPage {
  readonly tasks: readonly (StoredTask & { readonly statusAt: number })[];
  /** All matches, on every page. */
  readonly total: number;
  readonly more: boolean;
}

/**
 * Where tasks live. Writes resolve only after the commit. Errors: `unavailable` when the database cannot
 * answer. No method holds a connection after it has settled.
 */
export abstract class TaskStore {
  /** Stores a new task with its lease taken. Undefined: a message of that identity is there already. */
  abstract create(task: NewTask): Promise<Lease | undefined>;
  /**
   * Appends a turn's events. Writes of one task keep the order of the calls; many tasks share a commit.
   * Undefined: refused, the lease is lost or the task has ended.
   */
  abstract append(write: TurnWrite): Promise<Committed | undefined>;
  /**
   * Appends a delivery and takes the lease when no turn runs, in one step. Undefined: refused.
   * @throws A2AError `invalidParams` when it brings one push config too many
   */
  abstract deliver(delivery: Delivery): Promise<Delivered | 'duplicate' | undefined>;
  /** Any caller's task with its newest request, for operators. Undefined: there is none. */
  abstract find(taskId: string): Promise<Omit<TurnClaim, 'lease'> | undefined>;
  /** The message of that key. */
  abstract findMessage(key: string): Promise<KnownMessage | undefined>;

  /** The task with everything committed, or undefined where it is out of the caller's reach. One statement. */
  abstract read(taskId: string, scope: TaskReach): Promise<StoredTask | undefined>;
  /** Fewer tasks than the limit where they are large, but at least one; so it is with all that answer several. */
  abstract list(query: TaskQuery): Promise<TaskPage>;
  /**
   * Tasks whose status changed after a position, in the order of the changes, none left out: a change shows
   * once no older transaction is running any more. A task that changed twice shows once, as it is now.
   */
  abstract changes(query: ChangeQuery): Promise<Changes>;
  /** The version of the agent that the context began on; undefined for a context without tasks. */
  abstract contextVersion(contextId: string, scope: TaskScope): Promise<string | undefined>;
  /** Tasks of one context, newest first. */
  abstract context(contextId: string, scope: TaskScope, limit: number): Promise<Task[]>;
  abstract readMany(taskIds: readonly string[], scope: TaskScope): Promise<Task[]>;
  /** Committed events after `seq`, in order, at most `limit`, or fewer. Whatever the owner: callers check before. */
  abstract events(taskId: string, seq: number, limit: number): Promise<StreamEvent[]>;
  /**
   * The task whole as it was after an event up to `last`, its `version`: what its snapshot has, or else what its log
   * begins with. Undefined: there is no such task. Whatever the owner, as with `events`.
   */
  abstract snapshot(taskId: string, last: number): Promise<StoredTask | undefined>;
  /** Whether the task has entered a status, any one, with an event after `seq` and up to `last`. */
  abstract moved(taskId: string, seq: number, last: number): Promise<boolean>;
  /** The newest event numbers of the tasks that exist. */
  abstract versions(taskIds: readonly string[]): Promise<ReadonlyMap<string, number>>;

  /** Marks the task for cancelling. Undefined: not this caller's, or ended. */
  abstract requestCancel(taskId: string, scope: TaskScope): Promise<CancelMark | undefined>;
  /**
   * Takes the lease of a task that no living replica has; with `waitingSince`, of a task that waits for somebody
   * since that time (milliseconds), also from a turn that waits with it. Undefined: not so, or the task has ended.
   */
  abstract acquire(taskId: string, waitingSince?: number): Promise<TurnClaim | undefined>;
  /** Prolongs leases. Answers the ones still held. */
  abstract renew(leases: readonly Lease[]): Promise<readonly HeldLease[]>;
  /**
   * Gives turns to whoever takes them next, at once. `begun`: the agent has run and runs again, which counts as a
   * hand-over and not as a crash; otherwise the turn only waited for a place.
   */
  abstract release(leases: readonly Lease[], begun: boolean): Promise<void>;
  /**
   * Takes over turns whose lease has run out or was given back and that there is a place for, oldest first; and any
   * turn after a long time, since then nobody serves its agent or version.
   */
  abstract takeExpired(places: readonly FreePlace[], limit: number): Promise<TurnClaim[]>;
  /** Messages and approvals of the task after `seq`, in order. */
  abstract deliveries(taskId: string, seq: number): Promise<StreamEvent[]>;
  /** What a running turn needs for its next one: the trigger after `seq`. Undefined: the lease is lost. */
  abstract reload(lease: Lease): Promise<TurnClaim | undefined>;
}
