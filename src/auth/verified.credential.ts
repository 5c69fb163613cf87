import { hash } from 'node:crypto';
import type { Principal } from '../protocol/index.js';

/** What a strategy is given: the credential alone, whatever the binding took it from. */
export interface TokenRequest {
  readonly token: string;
}

/** What a strategy makes of a good credential. */
export interface VerifiedCredential {
  readonly principal: Principal;
  /** The caller names the subject it acts for, and has to. */
  readonly actsForOthers: boolean;
  /** Until when it need not be verified again, in milliseconds since 1970. */
  readonly until: number;
}

/**
 * Credentials that were verified a moment ago, so that a busy client does not have its signature checked for
 * every call. Keeps hashes, no credentials; of too many the oldest go first.
 */
export class VerifiedCredentials {
  readonly #entries = new Map<string, VerifiedCredential>();

  constructor(private readonly size = 10_000) {}

  get(token: string): VerifiedCredential | undefined {
    const key = keyOf(token);
    const verified = this.#entries.get(key);
    if (verified === undefined || verified.until > Date.now()) return verified;
    this.#entries.delete(key);
    return undefined;
  }

  set(token: string, verified: VerifiedCredential): void {
    const oldest = this.#entries.keys().next();
    if (this.#entries.size >= this.size && !oldest.done) this.#entries.delete(oldest.value);
    this.#entries.set(keyOf(token), verified);
  }
}

const keyOf = (token: string) => hash('sha256', token, 'base64');
