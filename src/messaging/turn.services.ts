import type { Clock, Ids, TaskFeed, TaskStore } from '../tasks/index.js';

/** What a turn needs of the house. */
export interface TurnServices {
  readonly store: TaskStore;
  readonly feed: TaskFeed;
  readonly clock: Clock;
  readonly ids: Ids;
}
