import type { TaskState } from '../protocol/index.js';

/** A task's waiting for its caller or an approval, from one status on until the next. */
export interface Wait {
  readonly taskId: string;
  /** Time of the status that began it, milliseconds since the epoch: with the task it names the wait. */
  readonly since: number;
  readonly agent: string;
  readonly organisation: string;
  /** INPUT_REQUIRED or AUTH_REQUIRED. */
  readonly state: TaskState;
}

/** A wait that began, or one that ended. */
export interface WaitChange extends Wait {
  /** Grows from change to change. */
  readonly number: number;
  readonly kind: 'waiting' | 'resolved';
}

export interface WaitQuery {
  readonly agent?: string;
  readonly organisation?: string;
  readonly state?: TaskState;
  /** Number of the last change that is known; 0 for none. */
  readonly after: number;
  readonly limit: number;
}

/** A change that the webhook is to be told. Nobody else does it until the claim is over. */
export interface WaitNotice extends WaitChange {
  /** Tries so far. */
  readonly tries: number;
}

/**
 * The waits of all tasks in the order in which they began and ended. It is kept beside the tasks, by looking at
 * them, so that a commit of a task knows nothing of it; a wait that is over before somebody looks is in nobody's way
 * and never shows. Errors: `unavailable` when the database cannot answer.
 */
export abstract class WaitLog {
  /** Takes down what has begun and ended since the last look, one replica at a time. `notify`: it is to be told. */
  abstract look(notify: boolean): Promise<void>;
  /**
   * What has changed after a number, for a reader who knows all before: waits that began and last, and known ones that
   * ended. From 0 on these are all that last.
   */
  abstract changes(query: WaitQuery): Promise<readonly WaitChange[]>;
  /** Claims changes that are due to be told, for `claimMs`; one of each wait. */
  abstract notices(limit: number, claimMs: number): Promise<readonly WaitNotice[]>;
  /** Gives a notice back: told, or to be tried again after a pause, or given up (`undefined`). */
  abstract report(notice: WaitNotice, outcome: 'told' | number | undefined): Promise<void>;
}
