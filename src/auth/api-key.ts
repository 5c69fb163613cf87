import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** Tells an API key from a JWT, and lets scanners of source code find one that leaked. */
export const API_KEY_PREFIX = 'pk_';

const FORM = /^pk_([0-9a-f]{16})_([\w-]{43})$/;

/** A key as it is kept. The secret itself is shown once, when the key is made. */
export interface ApiKey {
  /** 16 hexadecimal digits, the middle of the key's text. */
  readonly id: string;
  readonly name: string;
  readonly organisation: string;
  readonly subject: string;
  readonly scopes: readonly string[];
  /** The only agents it is good for. Undefined: all. */
  readonly agents?: readonly string[];
  /** Acts for the subject that `Parley-Subject` names. */
  readonly actsForOthers: boolean;
  readonly createdAt: Date;
  readonly expiresAt?: Date;
  readonly revokedAt?: Date;
}

/** The two halves of a key's text. */
export interface ApiKeyText {
  readonly id: string;
  readonly secret: string;
}

export function newApiKeyText(): ApiKeyText {
  return { id: randomBytes(8).toString('hex'), secret: randomBytes(32).toString('base64url') };
}

export const writeApiKey = ({ id, secret }: ApiKeyText) => `${API_KEY_PREFIX}${id}_${secret}`;

export function readApiKey(text: string): ApiKeyText | undefined {
  const [, id, secret] = FORM.exec(text) ?? [];
  return id && secret ? { id, secret } : undefined;
}

/** 256 random bits need no slow hash: nobody can guess them. */
export const hashOf = (secret: string): Buffer => createHash('sha256').update(secret).digest();

export const isSecretOf = (hash: Buffer, secret: string) => timingSafeEqual(hash, hashOf(secret));
