import { KeyObject } from 'node:crypto';
import { Logger } from '@nestjs/common';
import { type CryptoKey, createRemoteJWKSet, errors, type JWSHeaderParameters } from 'jose';
import { A2AError } from '../protocol/index.js';
import { discoverKeys } from './issuer.metadata.js';
import { RefusedCredential } from './refused.credential.js';

/** How long things last, in milliseconds. */
export interface KeyTimes {
  /** Keys older than this are read again, in the background. */
  readonly refresh: number;
  /** At least this long between two looks for a key that is not known: anyone can make up a `kid`. */
  readonly cooldown: number;
  /** At least this long between two tries after one that failed. */
  readonly retry: number;
  readonly timeout: number;
}

export const KEY_TIMES: KeyTimes = { refresh: 600_000, cooldown: 10_000, retry: 1_000, timeout: 5_000 };

/** We alone decide when keys are read: jose would forget them when the issuer is down for longer than they last. */
const NEVER = Number.POSITIVE_INFINITY;

/**
 * The public keys of one issuer.
 *
 * Read when first needed and kept while the issuer is down. An unknown `kid` makes them be read again, once
 * for all calls that wait, and not more often than the cooldown allows.
 */
export class IssuerKeys {
  readonly #logger = new Logger('auth');
  /** jsonwebtoken wants KeyObjects; the same CryptoKey comes back until the keys are read again. */
  readonly #objects = new WeakMap<CryptoKey, KeyObject>();
  #keys: ReturnType<typeof createRemoteJWKSet> | undefined;
  #readAt = 0;
  #reading: Promise<void> | undefined;
  #mayReadAt = 0;
  #failure: unknown;

  constructor(
    readonly issuer: string,
    private readonly times: KeyTimes = KEY_TIMES,
  ) {}

  /** @throws RefusedCredential when there is no such key, A2AError `unavailable` when that cannot be told now */
  async find(header: JWSHeaderParameters): Promise<KeyObject> {
    if (Date.now() >= this.#readAt + this.times.refresh) {
      const reading = this.read();
      if (this.#readAt === 0) await reading;
    }
    const known = await this.#look(header);
    if (known) return known;
    if (this.#readAt > 0) await this.read();
    const found = await this.#look(header);
    if (found) return found;
    if (this.#failure === undefined) throw new RefusedCredential('The key of the token is not known');
    throw new A2AError('unavailable', { retryAfter: 1, cause: this.#failure });
  }

  /** Reads the keys unless that was tried a moment ago. Never rejects: an outage is logged once. */
  read(): Promise<void> {
    if (this.#reading === undefined && Date.now() >= this.#mayReadAt) {
      this.#reading = this.#fetch().finally(() => {
        this.#reading = undefined;
      });
    }
    return this.#reading ?? Promise.resolve();
  }

  async #fetch(): Promise<void> {
    const first = this.#readAt === 0;
    try {
      const { timeout } = this.times;
      this.#keys ??= createRemoteJWKSet(await discoverKeys(this.issuer, timeout), {
        timeoutDuration: timeout,
        cacheMaxAge: NEVER,
        cooldownDuration: NEVER,
      });
      await this.#keys.reload();
      if (this.#failure !== undefined) this.#logger.log(`Keys of ${this.issuer} are read again`);
      this.#failure = undefined;
      this.#readAt = Date.now();
      // The first unknown key after the start is looked for at once.
      this.#mayReadAt = first ? 0 : this.#readAt + this.times.cooldown;
    } catch (error) {
      if (this.#failure === undefined)
        this.#logger.warn(`Keys of ${this.issuer}: ${(error as Error).message}`);
      this.#failure = error;
      this.#mayReadAt = Date.now() + this.times.retry;
    }
  }

  async #look(header: JWSHeaderParameters): Promise<KeyObject | undefined> {
    if (this.#readAt === 0 || this.#keys === undefined) return undefined;
    try {
      const key = await this.#keys(header);
      const object = this.#objects.get(key) ?? KeyObject.from(key);
      this.#objects.set(key, object);
      return object;
    } catch (error) {
      if (error instanceof errors.JOSEError) return undefined;
      throw error;
    }
  }
}
