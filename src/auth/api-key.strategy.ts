import passport from 'passport';
import type { Config } from '../config/index.js';
import { type ApiKey, hashOf, isSecretOf, readApiKey } from './api-key.js';
import type { ApiKeyStore } from './api-key.store.js';
import { RefusedCredential } from './refused.credential.js';
import type { TokenRequest, VerifiedCredential } from './verified.credential.js';

/** A revoked key counts for at most this long, on every replica. */
const TRUSTED_FOR_MS = 5_000;

/** Compared with when there is no such key, so that the time taken does not tell. */
const NOBODY = hashOf('');

/** API keys (`pk_...`) that the operator has made. */
export class ApiKeyStrategy extends passport.Strategy {
  override name = 'api-key';

  constructor(
    private readonly config: Config,
    private readonly keys: ApiKeyStore,
  ) {
    super();
  }

  override authenticate(request: object): void {
    this.verify((request as TokenRequest).token).then(
      (verified) => this.success(verified),
      (error) => this.error(error),
    );
  }

  private async verify(token: string): Promise<VerifiedCredential> {
    if (!this.config.apiKeys) throw new RefusedCredential('API keys are not accepted');
    const text = readApiKey(token);
    if (text === undefined) throw new RefusedCredential('The API key is not valid');
    const key = await this.keys.find(text.id);
    const isGood = isSecretOf(key?.hash ?? NOBODY, text.secret);
    if (key === undefined || !isGood || key.revokedAt)
      throw new RefusedCredential('The API key is not valid');
    const end = key.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY;
    if (end <= Date.now()) throw new RefusedCredential('The API key has expired');
    const until = Math.min(end, Date.now() + TRUSTED_FOR_MS);
    return { principal: principalOf(key), actsForOthers: key.actsForOthers, until };
  }
}

function principalOf({ organisation, subject, scopes, agents }: ApiKey) {
  return { organisation, subject, scopes: new Set(scopes), agents: agents && new Set(agents) };
}
