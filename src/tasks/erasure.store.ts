/** Whose data is erased. */
export interface ErasureSubject {
  /** Empty where callers have none. */
  readonly organisation: string;
  readonly subject: string;
}

/** Says that something was erased, without saying of whom to somebody who does not know it already. */
export interface ErasureReceipt {
  readonly id: string;
  readonly erasedAt: Date;
  /** SHA-256 in hex of the JSON text `[organisation,subject]`. */
  readonly subjectDigest: string;
  /** The operator. */
  readonly by: string;
  readonly tasks: number;
  /** Messages, status changes and chunks of artifacts. */
  readonly events: number;
  readonly pushConfigs: number;
}

/** Takes all data of a caller away. Errors: `unavailable` when the database cannot answer. */
export abstract class ErasureStore {
  /**
   * Removes every task of the caller, of every agent, with its messages, artifacts and push configs, in small
   * batches; then writes the receipt. A turn that runs finds its task gone and is dropped. Broken off, it can
   * be asked for again and goes on where it was.
   */
  abstract erase(subject: ErasureSubject, by: string): Promise<ErasureReceipt>;
  /** Receipts, newest first; at most a thousand. */
  abstract receipts(): Promise<readonly ErasureReceipt[]>;
}
