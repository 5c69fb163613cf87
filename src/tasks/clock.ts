import { randomUUID } from 'node:crypto';

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

/** UUID version 7: 48 bits of time, then random ones, so that new tasks sit side by side in the primary key. */
export class TimeOrderedIds extends Ids {
  next(): string {
    const time = Date.now().toString(16).padStart(12, '0');
    return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
  }
}
