/** A turn of a task, named as `TurnContext.trigger` names it. */
export interface CallbackTurn {
  readonly taskId: string;
  readonly turn: number;
}

/** One delivery to a callback address: JSON events, numbered in the order in which they came. */
export interface CallbackDelivery {
  readonly n: number;
  readonly events: readonly unknown[];
}

/** What a callback address was sent. */
export interface CallbackPost extends CallbackTurn {
  readonly signature: string;
  readonly events: readonly unknown[];
  /** The same key for the same turn counts once. */
  readonly key?: string;
}

/** `ended`: the turn is over, and nobody would read it. `unknown`: nobody was given such an address. */
export type Posted = 'taken' | 'ended' | 'unknown';

/**
 * Addresses at which an agent that answered 202 posts its events later, on any replica. Deliveries are stored
 * before they are acknowledged, and read by the replica that runs the turn.
 */
export abstract class Callbacks {
  /** Base URL of the service, once it is known. */
  abstract listenAt(url: string): void;
  /** The signed address for a turn; undefined before the service listens. */
  abstract addressOf(turn: CallbackTurn): Promise<string | undefined>;
  /** @throws A2AError `unavailable` when it could not be stored */
  abstract post(post: CallbackPost): Promise<Posted>;
  /** Deliveries for the turn after number `n`, in order, as they come, until the signal aborts. */
  abstract follow(turn: CallbackTurn, n: number, signal: AbortSignal): AsyncIterable<CallbackDelivery>;
}
