import type { PushTarget, TaskScope } from '../tasks/index.js';

/** `open`: events are delivered or awaited. `done`: the task has ended and all was delivered. `dead`: given up. */
export type PushState = 'open' | 'done' | 'dead';

/** A config as its owner may read it. */
export interface StoredTarget extends PushTarget {
  readonly taskId: string;
}

export interface PushEvent {
  readonly seq: number;
  /** One StreamResponse in ProtoJSON, as the log keeps it. */
  readonly json: string;
}

/** Some of a config's events to deliver, in order. Until the claim is over nobody else delivers for it. */
export interface PushClaim {
  readonly claim: string;
  readonly taskId: string;
  readonly agent: string;
  readonly target: PushTarget;
  /** The last event that was delivered or passed over. */
  readonly cursor: number;
  /** How often the event after the cursor was tried in vain. */
  readonly tries: number;
  /** How often the config had been given another place by then; see `redeliver`. */
  readonly moves: number;
  readonly events: readonly PushEvent[];
  /** Of the newest message of the task: what is pushed comes of it. */
  readonly traceparent?: string;
  /** Its host keeps failing and is paused: this claim alone finds out whether it does better. */
  readonly probe: boolean;
}

/** How far a claim got. Gives it back. */
export interface PushReport {
  readonly claim: PushClaim;
  readonly cursor: number;
  readonly sent: number;
  readonly tries: number;
  /** When to go on, if there is something; milliseconds from now. */
  readonly delayMs: number;
  /** Give up. */
  readonly dead: boolean;
  /** What the last try brought, where there was one. */
  readonly last?: { readonly status?: number; readonly error?: string; readonly ms: number };
}

/**
 * What a config does after a report. `more`: the next events are there and due. `idle`: it waits for events, as far as
 * was seen; some may just have come. `later`: nothing now.
 */
export type PushNext = 'more' | 'idle' | 'later';

/** How many more configs may be claimed of a host; of one that is not named, `perHost`. */
export interface ClaimLimits {
  readonly limit: number;
  readonly perHost: number;
  readonly hosts: ReadonlyMap<string, number>;
}

export interface DeliveryFilter {
  readonly agent?: string;
  readonly state?: PushState;
  readonly taskId?: string;
  readonly host?: string;
  readonly limit: number;
  readonly after?: { readonly taskId: string; readonly id: string };
}

/** A config as operators see it: nothing of its secrets. */
export interface DeliveryRow {
  readonly taskId: string;
  readonly configId: string;
  readonly agent: string;
  readonly url: string;
  readonly host: string;
  readonly state: PushState;
  readonly cursor: number;
  readonly version: number;
  readonly sent: number;
  readonly tries: number;
  readonly dueAt: Date | null;
  readonly lastStatus: number | null;
  readonly lastError: string | null;
  readonly lastMs: number | null;
  readonly triedAt: Date | null;
  readonly createdAt: Date;
}

/** Which deliveries to try again: those of a task, of one of its configs, or of a host. */
export interface Redelivery {
  readonly taskId?: string;
  readonly configId?: string;
  readonly host?: string;
  /** Begin again after this event of the log. */
  readonly after?: number;
}

export interface PushBacklog {
  readonly dead: number;
  readonly due: number;
  /** Age of the oldest event that is due, seconds. */
  readonly lagSeconds: number;
}

/** A host that keeps failing, as operators see it. */
export interface FailingHost {
  readonly host: string;
  /** In a row. */
  readonly failures: number;
  /** Milliseconds until the next probe; while one is under way, until it is given up. */
  readonly probeInMs: number;
}

/** Where push configs and their places in the log live. Errors: `unavailable` when the database cannot answer. */
export abstract class PushStore {
  /** @throws A2AError `taskNotFound`; `invalidParams` when there are too many */
  abstract add(taskId: string, scope: TaskScope, target: PushTarget): Promise<void>;
  /** The task's configs by id, or undefined when the task is not this caller's. */
  abstract list(taskId: string, scope: TaskScope): Promise<StoredTarget[] | undefined>;
  /**
   * Takes a config away: nobody claims or sees it any more. Answers the claim that may still be posting, null
   * when there is none, undefined when the task is not this caller's.
   */
  abstract remove(taskId: string, scope: TaskScope, id: string): Promise<string | null | undefined>;
  /** Whether a claim is still held. */
  abstract isHeld(taskId: string, id: string, claim: string): Promise<boolean>;
  /**
   * Marks every config as due that lags behind its task. Clears away what was removed, and pauses of failing hosts that
   * nothing was due for in a day.
   */
  abstract sweep(): Promise<void>;
  /**
   * Claims configs that are due, the longest waiting first, and those of `fresh` tasks that wait for events which are
   * there; of each its next events. What is not claimed for want of room, or because its host is paused, is due. Of a
   * host whose pause is over one config is claimed, by one replica, as its probe.
   */
  abstract claim(fresh: readonly string[], limits: ClaimLimits): Promise<PushClaim[]>;
  /**
   * Takes down how far claims got. A report for a claim that is over is ignored. One for a config that has been given
   * another place since, redelivered or made anew, ends the claim and says no more.
   */
  abstract report(reports: readonly PushReport[]): Promise<readonly PushNext[]>;
  /** Those of the newest task first. */
  abstract deliveries(filter: DeliveryFilter): Promise<DeliveryRow[]>;
  /** Makes deliveries due at once, dead ones too. Answers how many. */
  abstract redeliver(what: Redelivery): Promise<number>;
  /** For all replicas, until it is resumed. */
  abstract pause(host: string): Promise<void>;
  /** Also a host that is paused because it kept failing. */
  abstract resume(host: string): Promise<void>;
  /** Hosts that operators have paused. */
  abstract paused(): Promise<string[]>;
  /**
   * Pauses a host that has failed so often in a row, for all replicas and 5 s; for twice as long as before, up to
   * 20 s, when its probe failed. One that is paused already stays so.
   */
  abstract trip(host: string, failures: number, probed: boolean): Promise<void>;
  /** Its probe succeeded: ends the pause, unless it is an operator's. */
  abstract recover(host: string): Promise<void>;
  /** Hosts that are paused because they keep failing. */
  abstract failing(): Promise<FailingHost[]>;
  abstract backlog(): Promise<PushBacklog>;
}
