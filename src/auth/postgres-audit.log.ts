import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import { Postgres } from '../database/index.js';
import { AuditLog, type AuditRecord } from './audit.log.js';

const INSERT = `
  INSERT INTO audit_log (at, act, organisation, subject, details)
  SELECT at, act, organisation, subject, details FROM jsonb_to_recordset($1::jsonb)
    AS record (at timestamptz, act text, organisation text, subject text, details jsonb)`;
/** So many wait for the database at most: the oldest of more are in the log of the process alone. */
const MOST_WAITING = 10_000;

/** Writes each record to the log of the process at once, and to the table `audit_log` in groups. */
@Injectable()
export class PostgresAuditLog extends AuditLog implements BeforeApplicationShutdown {
  readonly #logger = new Logger('audit');
  #waiting: object[] = [];
  #writing: Promise<void> | undefined;

  constructor(private readonly postgres: Postgres) {
    super();
  }

  record({ act, principal, ...details }: AuditRecord): void {
    const { organisation, subject, actor } = principal ?? {};
    const at = new Date();
    this.#logger.log({ message: act, organisation, subject, actor, ...details });
    this.#waiting.push({ at, act, organisation, subject, details: { actor, ...details } });
    if (this.#waiting.length > MOST_WAITING) this.#waiting.shift();
    this.#writing ??= this.#write();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.#writing;
  }

  async #write(): Promise<void> {
    try {
      while (this.#waiting.length > 0) {
        const group = this.#waiting;
        this.#waiting = [];
        await this.postgres.query({ name: 'audit', text: INSERT, values: [JSON.stringify(group)] });
      }
    } catch (cause) {
      this.#logger.error({ message: 'The audit log cannot be written to the database', cause });
    } finally {
      this.#writing = undefined;
    }
  }
}
