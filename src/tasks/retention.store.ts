import type { AgeRule } from '../config/index.js';
import type { TaskState } from '../protocol/index.js';

/** What retention removes, and what it is called in metrics. */
export type Removable = 'tasks' | 'events' | 'push' | 'audit';

/** A task that has waited for too long, as it was seen: a status since then makes it another matter. */
export interface Overdue {
  readonly taskId: string;
  /** Milliseconds since the epoch. */
  readonly statusAt: number;
}

/**
 * Finds and removes what has become too old. Of several rules the most specific one holds, an organisation's
 * before an agent's. Errors: `unavailable` when the database cannot answer.
 */
export abstract class RetentionStore {
  /**
   * Removes one small batch in one transaction: `tasks` are ended ones with all that belongs to them, `events`
   * the chunks of artifacts that an ended task's snapshot holds whole. Answers how many; 0 also while another
   * replica is at it.
   */
  abstract remove(what: Removable, rules: readonly AgeRule[]): Promise<number>;
  /** Some of the tasks that have waited for somebody, or in this state, for longer than the rules allow. */
  abstract overdue(rules: readonly AgeRule[], state?: TaskState): Promise<readonly Overdue[]>;
}
