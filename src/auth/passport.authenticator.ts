import passport from 'passport';
import type { Config } from '../config/index.js';
import { A2AError, type OperationName, type Principal } from '../protocol/index.js';
import { API_KEY_PREFIX } from './api-key.js';
import type { ApiKeyStore } from './api-key.store.js';
import { ApiKeyStrategy } from './api-key.strategy.js';
import { Authenticator, type Credentials } from './authenticator.js';
import { challenge } from './challenge.js';
import { certificateHolder } from './client.certificate.js';
import type { FailedLogins } from './failed.logins.js';
import { Issuers } from './issuers.js';
import { JwtStrategy } from './jwt.strategy.js';
import { withReach } from './organisation.reader.js';
import { RefusedCredential } from './refused.credential.js';
import { SCOPE_OF } from './scope.js';
import { actingFor, SUBJECT_HEADER } from './subject.header.js';
import { type VerifiedCredential, VerifiedCredentials } from './verified.credential.js';

const BEARER = /^bearer +(\S+)$/i;

/**
 * Asks passport's strategies who calls: `Authorization: Bearer` with a JWT or an API key, or `X-API-Key`.
 * Authorization wins where both are there, and either wins over a client certificate.
 */
export class PassportAuthenticator extends Authenticator {
  readonly #verified = new VerifiedCredentials();

  constructor(
    private readonly config: Config,
    private readonly jwt: JwtStrategy,
    private readonly apiKey: ApiKeyStrategy,
    private readonly failures: FailedLogins,
  ) {
    super();
  }

  /** Over the configured issuers and the keys in the store. Waits for none of them. */
  static with(config: Config, keys: ApiKeyStore, failures: FailedLogins): PassportAuthenticator {
    const issuers = new Issuers(config);
    issuers.readAhead();
    const jwt = new JwtStrategy(config, issuers);
    return new PassportAuthenticator(config, jwt, new ApiKeyStrategy(config, keys), failures);
  }

  async authenticate(credentials: Credentials, operation?: OperationName): Promise<Principal> {
    const { config, failures } = this;
    const scope = operation && config.scopeNames[SCOPE_OF[operation]];
    try {
      const token = tokenOf(credentials);
      if (token === undefined) {
        const { certificate } = credentials;
        if (!certificate || config.tlsClientCa === undefined)
          throw new A2AError('unauthenticated', { challenge: challenge(config, { scope }) });
        const principal = withReach(certificateHolder(certificate, config), config);
        return actingFor(credentials.header(SUBJECT_HEADER), { principal, actsForOthers: false, until: 0 });
      }
      const verified = this.#verified.get(token) ?? (await this.#verify(token, credentials));
      return actingFor(credentials.header(SUBJECT_HEADER), verified);
    } catch (error) {
      if (error instanceof A2AError) throw error;
      const description = descriptionOf(error);
      failures.count(description, credentials.address);
      throw new A2AError('unauthenticated', {
        message: description,
        challenge: challenge(config, { error: 'invalid_token', description, scope }),
      });
    }
  }

  async #verify(token: string, { address }: Credentials): Promise<VerifiedCredential> {
    this.failures.check(address);
    const { principal, ...rest } = await ask(
      token.startsWith(API_KEY_PREFIX) ? this.apiKey : this.jwt,
      token,
    );
    const verified = { ...rest, principal: withReach(principal, this.config) };
    this.#verified.set(token, verified);
    return verified;
  }
}

function tokenOf(credentials: Credentials): string | undefined {
  const authorization = credentials.header('authorization');
  if (authorization === undefined || authorization === '')
    return credentials.header('x-api-key') || undefined;
  const token = BEARER.exec(authorization)?.[1];
  if (token === undefined) throw new RefusedCredential('Authorization has to be a Bearer token');
  return token;
}

/** Runs one strategy as passport's middleware does, without a request and a reply of its own. */
function ask(strategy: object, token: string): Promise<VerifiedCredential> {
  return new Promise((resolve, reject) => {
    const answer: passport.AuthenticateCallback = (error, verified, why) => {
      if (error || !verified) reject(error ?? why);
      else resolve(verified as VerifiedCredential);
    };
    // Passport hangs the answer on the strategy, so each call needs one of its own.
    passport.authenticate(Object.create(strategy), { session: false }, answer)({ token }, {}, reject);
  });
}

/** Only what helps the caller. */
function descriptionOf(error: unknown): string {
  if (error instanceof RefusedCredential) return error.message;
  const name = error instanceof Error ? error.name : '';
  if (name === 'TokenExpiredError') return 'The token has expired';
  if (name === 'NotBeforeError') return 'The token is not valid yet';
  if (name === 'JsonWebTokenError') return flawOf(error as Error);
  throw error;
}

/** Which check of jsonwebtoken a token has failed: whoever connects an issuer has to know. */
function flawOf({ message }: Error): string {
  if (message.startsWith('jwt audience')) return 'The audience (aud) of the token is another one';
  if (message === 'invalid signature') return 'The signature of the token is not valid';
  return 'The token is not valid';
}
