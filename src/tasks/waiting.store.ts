import type { TaskState } from '../protocol/index.js';
import type { StoredTask, TaskScope } from './task.store.js';

/** A task that waits for somebody, whoever its caller is. */
export interface WaitingTask extends StoredTask {
  readonly scope: TaskScope;
  /** Since when, milliseconds since the epoch. */
  readonly since: number;
}

export interface WaitingQuery {
  readonly agent?: string;
  readonly organisation?: string;
  /** INPUT_REQUIRED or AUTH_REQUIRED; undefined is both. */
  readonly state?: TaskState;
  readonly limit: number;
  /** The last task of the page before. */
  readonly after?: { readonly since: number; readonly id: string };
}

/** Tasks that wait for input or an approval, for operators: who has waited longest comes first. */
export abstract class WaitingStore {
  /** @throws as {@link TaskStore} */
  abstract waiting(query: WaitingQuery): Promise<WaitingTask[]>;
}
