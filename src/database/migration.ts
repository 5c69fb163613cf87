import type { MigrationInterface } from 'typeorm';

/** One step of the schema. A released one never changes; its class name ends in its timestamp. */
export interface Migration extends MigrationInterface {
  readonly name: string;
  /** The release before cannot run on the schema that it leaves, so it never comes with a rolling update. */
  readonly breaking: boolean;
}
