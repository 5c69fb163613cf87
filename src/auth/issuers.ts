import type { KeyObject } from 'node:crypto';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import type { Config } from '../config/index.js';
import { IssuerKeys } from './issuer.keys.js';
import { RefusedCredential } from './refused.credential.js';

/** The issuers whose tokens are accepted. */
export class Issuers {
  readonly #keys: ReadonlyMap<string, IssuerKeys>;

  constructor(private readonly config: Config) {
    this.#keys = new Map(config.oidcIssuers.map((issuer) => [issuer, new IssuerKeys(issuer)]));
  }

  /** Begins to read the keys, ahead of the first call: the service starts without its issuers. */
  readAhead(): void {
    for (const keys of this.#keys.values()) void keys.read();
  }

  /**
   * The key that a token has to be signed with, by what it says of itself. Nothing of it is believed yet.
   * @throws RefusedCredential, or A2AError `unavailable` while the issuer's keys cannot be read
   */
  async keyFor(token: string): Promise<KeyObject> {
    const { header, issuer } = peek(token);
    const keys = this.#keys.get(issuer ?? '');
    if (keys === undefined) throw new RefusedCredential('The issuer of the token is not accepted');
    if (!(this.config.oidcAlgorithms as string[]).includes(header.alg ?? '')) {
      throw new RefusedCredential('The signature algorithm of the token is not accepted');
    }
    return keys.find(header);
  }
}

function peek(token: string) {
  try {
    return { header: decodeProtectedHeader(token), issuer: decodeJwt(token).iss };
  } catch {
    throw new RefusedCredential('The token is not a JWT');
  }
}
