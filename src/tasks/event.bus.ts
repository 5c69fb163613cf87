/**
 * What replicas tell each other. `event`: the task's log is committed up to `seq`. `cancel`: somebody asked to
 * cancel the task. `turn`: a turn waits for a replica with a free place.
 */
export type Hint =
  | { readonly kind: 'event'; readonly taskId: string; readonly seq: number }
  | { readonly kind: 'cancel'; readonly taskId: string }
  | { readonly kind: 'turn' };

/** What a listener hears: hints of other replicas, and `resync` after some may have been lost. */
export type Heard = Hint | { readonly kind: 'resync' };

/**
 * Wakes other replicas. A hint says that something is committed; losing one costs time, never an event, since
 * whoever listens also looks by itself now and then.
 */
export abstract class EventBus {
  /** Passes a hint on, soon and together with others. Never throws, never waits. */
  abstract tell(hint: Hint): void;
  /** Calls `heard` for every hint of another replica. */
  abstract listen(heard: (hint: Heard) => void): void;
  /** Whether hints arrive right now. */
  abstract get connected(): boolean;
  /** Connects, and again whenever the connection is lost. Resolves after the first try, whatever came of it. */
  abstract start(): Promise<void>;
  abstract stop(): Promise<void>;
}
