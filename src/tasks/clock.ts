import { v7 } from 'uuid';

/** The service's clock, for status times. Leases go by the database's clock instead. */
export abstract class Clock {
  /** Milliseconds since the epoch, UTC. */
  abstract now(): number;
}

export class SystemClock extends Clock {
  now(): number {
    return Date.now();
  }
}

/** Makes the ids that the service mints: tasks, contexts, the agent's messages. */
export abstract class Ids {
  abstract next(): string;
}

/** UUID version 7: new tasks sit side by side in the primary key. */
export class TimeOrderedIds extends Ids {
  next(): string {
    return v7();
  }
}
