import type { Config } from '../config/index.js';
import type { Principal } from '../protocol/index.js';
import { RefusedCredential } from './refused.credential.js';
import { isOwnScope } from './scope.js';

/** The verified payload of a token. */
export type Claims = Readonly<Record<string, unknown>>;

const LONGEST_NAME = 255;

/**
 * Who a token speaks of, by the configured claims.
 * @throws RefusedCredential for a token that names no subject or organisation, or never expires
 */
export function principalOf(claims: Claims, config: Config): Principal {
  if (typeof claims.exp !== 'number') throw new RefusedCredential('The token has no end (exp)');
  const { oidcSubjectClaim, oidcOrganisationClaim } = config;
  return {
    subject: nameAt(claims, oidcSubjectClaim),
    organisation: oidcOrganisationClaim ? nameAt(claims, oidcOrganisationClaim) : nameAt(claims, 'iss'),
    scopes: scopesOf(claims, config),
    actor: actorOf(claims),
  };
}

/** A claim by its name, which may hold dots (`https://example.com/org`), else by its path (`realm_access.roles`). */
export function claimAt(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let value: unknown = claims;
  for (const step of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Claims)[step];
  }
  return value;
}

/** Owns rows in the database, so it has to be a text that Postgres keeps as it is. */
function nameAt(claims: Claims, claim: string): string {
  const name = claimAt(claims, claim);
  if (typeof name === 'string' && name !== '' && name.length <= LONGEST_NAME && isStorable(name)) return name;
  throw new RefusedCredential(`The token has no usable "${claim}"`);
}

const isStorable = (text: string) => !text.includes('\0') && text.isWellFormed();

/** All scopes of the token: those that operations need by our own names, those that agents ask for as they are. */
function scopesOf(claims: Claims, { oidcScopeClaims, scopeNames }: Config): ReadonlySet<string> {
  const held = new Set(oidcScopeClaims.flatMap((claim) => texts(claimAt(claims, claim))));
  const ours = Object.entries(scopeNames).filter(([, name]) => held.has(name));
  const others = [...held].filter((name) => !isOwnScope(name));
  return new Set([...ours.map(([scope]) => scope), ...others]);
}

function texts(value: unknown): string[] {
  if (typeof value === 'string') return value.split(/\s+/);
  return Array.isArray(value) ? value.filter((entry) => typeof entry === 'string') : [];
}

/** The nearest actor of a delegation (RFC 8693, 4.1). */
function actorOf(claims: Claims): string | undefined {
  const actor = claimAt(claims, 'act.sub');
  return typeof actor === 'string' ? actor.slice(0, LONGEST_NAME) : undefined;
}
