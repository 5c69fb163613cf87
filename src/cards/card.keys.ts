import { createPrivateKey, createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { JWK } from 'jose';
import { type Config, ConfigError, type ConfigProblem } from '../config/index.js';

export type CardAlgorithm = 'ES256' | 'RS256';

/** A key that cards are signed with, or were: one that is leaving may be public only. */
export interface CardKey {
  readonly kid: string;
  readonly alg: CardAlgorithm;
  readonly signing?: KeyObject;
  /** As published, without anything private. */
  readonly jwk: JWK;
}

interface KeySource {
  /** The setting, for a problem. */
  readonly where: string;
  readonly read: () => Promise<string>;
}

/** The keys of this service's cards, the newest first. Without any, cards are not signed. */
export class CardKeys {
  constructor(readonly all: readonly CardKey[] = []) {}

  /** @throws ConfigError with every key that cannot be used */
  static async load({ cardSigningKey, cardSigningKeys }: Config): Promise<CardKeys> {
    const files = cardSigningKeys.map((file) => ({
      where: `PARLEY_CARD_SIGNING_KEYS ${file}`,
      read: () => readFile(file, 'utf8'),
    }));
    const variable = { where: 'PARLEY_CARD_SIGNING_KEY', read: async () => cardSigningKey ?? '' };
    const sources: KeySource[] = cardSigningKey ? [variable, ...files] : files;
    const results = await Promise.allSettled(sources.map(({ read }) => read().then(readKey)));
    const problems = results.flatMap((result, index): ConfigProblem[] =>
      result.status === 'rejected'
        ? [{ where: sources[index]!.where, what: whatIsWrong(result.reason) }]
        : [],
    );
    const keys = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    if (problems.length === 0 && keys.length > 0 && !keys.some(({ signing }) => signing)) {
      problems.push({
        where: 'PARLEY_CARD_SIGNING_KEYS',
        what: 'none of the keys is private; give one to sign with',
      });
    }
    if (problems.length > 0) throw new ConfigError(problems);
    return new CardKeys(keys);
  }
}

class UnusableKey extends Error {}

async function readKey(text: string): Promise<CardKey> {
  const { calculateJwkThumbprint } = await import('jose');
  const given = text.trim().startsWith('{') ? (JSON.parse(text) as JWK) : text;
  const source = typeof given === 'string' ? given : { key: given as JsonWebKey, format: 'jwk' as const };
  const isPrivate = typeof given === 'string' ? given.includes('PRIVATE KEY') : given.d !== undefined;
  const signing = isPrivate ? createPrivateKey(source) : undefined;
  const key = createPublicKey(source);
  const alg = algorithmOf(key);
  const published = key.export({ format: 'jwk' }) as JWK;
  const named = typeof given === 'string' ? undefined : given.kid;
  const kid = named ?? (await calculateJwkThumbprint(published));
  return { kid, alg, signing, jwk: { ...published, kid, alg, use: 'sig' } };
}

function algorithmOf({ asymmetricKeyType, asymmetricKeyDetails = {} }: KeyObject): CardAlgorithm {
  const { namedCurve, modulusLength = 0 } = asymmetricKeyDetails;
  if (asymmetricKeyType === 'ec' && namedCurve === 'prime256v1') return 'ES256';
  if (asymmetricKeyType === 'rsa' && modulusLength >= 2048) return 'RS256';
  throw new UnusableKey('give a P-256 key (ES256) or an RSA key of at least 2048 bits (RS256)');
}

function whatIsWrong(error: unknown): string {
  if (error instanceof UnusableKey) return error.message;
  const isMissing = error instanceof Error && 'code' in error && /^E[A-Z]+$/.test(String(error.code));
  return isMissing
    ? `cannot be read (${error.code}); give a file that can`
    : 'holds no key; give a PEM or a JWK';
}
