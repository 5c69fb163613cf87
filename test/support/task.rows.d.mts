import type { Client } from 'pg';

export interface WantedTasks {
  readonly count: number;
  readonly owners?: number;
  readonly agent?: string;
  readonly organisation?: string;
  /** By its number in the protocol. */
  readonly state?: number;
  /** Age of the oldest; the others are spread evenly until now. */
  readonly days?: number;
  readonly chunks?: number;
}

/** Fills a database with tasks as the service leaves them. */
export function insertTasks(client: Client, wanted: WantedTasks): Promise<void>;
