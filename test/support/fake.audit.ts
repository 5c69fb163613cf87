import { AuditLog, type AuditRecord } from '../../src/auth/index.js';

/** Keeps records to be looked at. */
export class FakeAudit extends AuditLog {
  readonly records: AuditRecord[] = [];

  record(record: AuditRecord): void {
    this.records.push(record);
  }
}
