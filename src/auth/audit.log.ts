import type { OperationName, Principal } from '../protocol/index.js';

/** What the audit log tells of; an act that is not listed is not kept. */
export type AuditAct =
  | 'login.failed'
  | 'login.throttled'
  | 'denied'
  | 'key.made'
  | 'key.revoked'
  | 'approval'
  | 'cancel'
  | 'erase'
  | 'push.redelivered'
  | 'push.paused'
  | 'push.resumed'
  | 'push.dead';

/** One act that matters for security. Holds names and ids only, never a credential or what a message says. */
export interface AuditRecord {
  readonly act: AuditAct;
  /** Who did it; undefined where nobody is known. */
  readonly principal?: Pick<Principal, 'organisation' | 'subject' | 'actor'>;
  /** Where from. */
  readonly address?: string;
  readonly agent?: string;
  readonly operation?: OperationName;
  readonly taskId?: string;
  /** Id of an API key. */
  readonly keyId?: string;
  /** Id of a push config. */
  readonly configId?: string;
  /** `host` or `host:port` of a push receiver. */
  readonly host?: string;
  /** Id of the receipt of an erasure, which names nobody. */
  readonly receiptId?: string;
  /** The scope that was missing. */
  readonly scope?: string;
  readonly reason?: string;
  /** Why, in the words of the operator who decided. */
  readonly why?: string;
}

/** Keeps who did what, for those who look into it later. */
export abstract class AuditLog {
  /** Returns at once, and never throws: an audit log that is down keeps nobody from working. */
  abstract record(record: AuditRecord): void;
}

/** Operators stand in the log beside the callers of all organisations, and belong to none of them. */
export const operatorNamed = (name = 'operator') => ({ organisation: '', subject: name });
