import { Injectable } from '@nestjs/common';
import { Config } from '../config/index.js';
import { A2AError } from '../protocol/index.js';
import { AuditLog } from './audit.log.js';
import { TokenBuckets } from './token.buckets.js';

const NOWHERE = 'unknown';

/**
 * Whoever has tried too many wrong credentials has to wait, whatever they try next. Counts by address, on each
 * replica for itself; credentials that were good a moment ago are not asked about here.
 */
@Injectable()
export class FailedLogins {
  readonly #buckets: TokenBuckets | undefined;

  constructor(
    { limitFailedLogins }: Config,
    private readonly audit: AuditLog,
  ) {
    const size = { rate: limitFailedLogins / 60, capacity: limitFailedLogins };
    this.#buckets = limitFailedLogins > 0 ? new TokenBuckets(size) : undefined;
  }

  /** @throws A2AError `rateLimited` */
  check(address = NOWHERE): void {
    const wait = this.#buckets?.wait(address) ?? 0;
    if (wait === 0) return;
    const message = 'Too many wrong credentials have come from this address';
    throw new A2AError('rateLimited', { message, retryAfter: wait });
  }

  /** The last one before the wait is told of as such, and those during the wait are not told of at all. */
  count(reason: string, address: string | undefined): void {
    this.audit.record({ act: 'login.failed', address, reason });
    const buckets = this.#buckets;
    if (!buckets) return;
    buckets.take(address ?? NOWHERE);
    if (buckets.wait(address ?? NOWHERE) > 0) this.audit.record({ act: 'login.throttled', address });
  }
}
