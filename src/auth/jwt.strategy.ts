import { PassportStrategy } from '@nestjs/passport';
import { Strategy } from 'passport-jwt';
import type { Config } from '../config/index.js';
import { type Claims, principalOf } from './claims.js';
import type { Issuers } from './issuers.js';
import type { TokenRequest, VerifiedCredential } from './verified.credential.js';

/** A signature is checked once in this time; a key that its issuer withdraws counts for as long. */
const TRUSTED_FOR_MS = 60_000;

/** Between our clock and an issuer's. */
const CLOCK_SKEW_S = 60;

/** Bearer tokens that are JWTs of one of the issuers: signature, issuer, audience and times. */
export class JwtStrategy extends PassportStrategy(Strategy, 'jwt') {
  constructor(
    private readonly config: Config,
    issuers: Issuers,
  ) {
    super({
      jwtFromRequest: ({ token }: TokenRequest) => token,
      // A KeyObject is not parsed again for each token, as the PEM that the types want would be.
      secretOrKeyProvider: (_request: TokenRequest, token: string, done) =>
        issuers.keyFor(token).then((key) => done(null, key as unknown as string), done),
      algorithms: config.oidcAlgorithms,
      issuer: config.oidcIssuers,
      audience: config.oidcAudience,
      jsonWebTokenOptions: { clockTolerance: CLOCK_SKEW_S },
    });
  }

  validate(claims: Claims): VerifiedCredential {
    const principal = principalOf(claims, this.config);
    const end = (Number(claims.exp) + CLOCK_SKEW_S) * 1000;
    return { principal, actsForOthers: false, until: Math.min(end, Date.now() + TRUSTED_FOR_MS) };
  }
}
