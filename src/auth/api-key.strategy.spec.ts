import { Logger } from '@nestjs/common';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { FakeApiKeys } from '../../test/support/fake.api-keys.js';
import { FakeAudit } from '../../test/support/fake.audit.js';
import { loadConfig } from '../config/index.js';
import { A2AError } from '../protocol/index.js';
import { type ApiKey, hashOf, newApiKeyText, writeApiKey } from './api-key.js';
import { ApiKeyStrategy } from './api-key.strategy.js';
import type { Credentials } from './authenticator.js';
import { FailedLogins } from './failed.logins.js';
import { Issuers } from './issuers.js';
import { JwtStrategy } from './jwt.strategy.js';
import { PassportAuthenticator } from './passport.authenticator.js';

let keys: FakeApiKeys;
let door: PassportAuthenticator;
beforeAll(() => Logger.overrideLogger(false));
beforeEach(() => {
  const config = loadConfig({ PARLEY_API_KEYS: 'true' });
  keys = new FakeApiKeys();
  const jwt = new JwtStrategy(config, new Issuers(config));
  door = new PassportAuthenticator(
    config,
    jwt,
    new ApiKeyStrategy(config, keys),
    new FailedLogins(config, new FakeAudit()),
  );
});
afterEach(() => vi.useRealTimers());

const later = (ms: number) => vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + ms });

async function newKey(given: Partial<ApiKey> = {}): Promise<string> {
  const text = newApiKeyText();
  await keys.add({
    ...{ id: text.id, hash: hashOf(text.secret), name: 'ci', organisation: 'acme', subject: 'ci' },
    ...{ scopes: ['a2a.send'], actsForOthers: false, createdAt: new Date(), ...given },
  });
  return writeApiKey(text);
}

const headers = (values: Record<string, string>): Credentials => ({ header: (name) => values[name] });
const refusal = async (values: Record<string, string>) => {
  const result = await door.authenticate(headers(values)).catch((error: unknown) => error);
  if (result instanceof A2AError) return result;
  throw new Error(`It was not refused: ${JSON.stringify(result)}`);
};

describe('An API key', () => {
  it('is accepted as bearer token and in X-API-Key (S003-08)', async () => {
    const key = await newKey({ agents: ['echo'] });
    const principal = {
      ...{ organisation: 'acme', subject: 'ci', scopes: new Set(['a2a.send']), agents: new Set(['echo']) },
    };

    expect(await door.authenticate(headers({ authorization: `Bearer ${key}` }))).toEqual(principal);
    expect(await door.authenticate(headers({ 'x-api-key': key }))).toEqual(principal);
  });

  it('is looked up once in five seconds, after which a revoked one is refused', async () => {
    const key = await newKey();
    for (let n = 0; n < 10; n++) await door.authenticate(headers({ 'x-api-key': key }));
    expect(keys.finds).toBe(1);

    await keys.revoke(key.slice(3, 19));
    later(5_001);
    expect((await refusal({ 'x-api-key': key })).message).toBe('The API key is not valid');
  });

  it('ends when it expires, also for a caller who has just been let in', async () => {
    const key = await newKey({ expiresAt: new Date(Date.now() + 2_000) });
    await door.authenticate(headers({ 'x-api-key': key }));
    later(2_001);

    expect((await refusal({ 'x-api-key': key })).message).toBe('The API key has expired');
  });

  it('with one other character is refused like one that never was', async () => {
    const key = await newKey();
    const last = key.at(-5) === 'A' ? 'B' : 'A';
    const altered = key.slice(0, -5) + last + key.slice(-4);

    for (const wrong of [altered, writeApiKey(newApiKeyText()), 'pk_', `${key}x`, "pk_' or true --"]) {
      expect(await refusal({ 'x-api-key': wrong })).toMatchObject({
        kind: 'unauthenticated',
        message: 'The API key is not valid',
      });
    }
  });

  it('may not name a subject, unless it is made to act for others', async () => {
    const key = await newKey();

    expect((await refusal({ 'x-api-key': key, 'parley-subject': 'ann' })).kind).toBe('permissionDenied');
  });
});

describe('An API key that acts for others (S004-22)', () => {
  it('stands for the subject that it names, and is recorded as the actor', async () => {
    const key = await newKey({ actsForOthers: true });

    expect(await door.authenticate(headers({ 'x-api-key': key, 'parley-subject': 'ann' }))).toMatchObject({
      organisation: 'acme',
      subject: 'ann',
      actor: 'ci',
    });
  });

  it('has to name one each time', async () => {
    const key = await newKey({ actsForOthers: true });
    await door.authenticate(headers({ 'x-api-key': key, 'parley-subject': 'ann' }));

    for (const subject of [undefined, '', ' ', 'a\nb', 'ä', 'x'.repeat(256)]) {
      const given: Record<string, string> = subject === undefined ? {} : { 'parley-subject': subject };
      expect((await refusal({ 'x-api-key': key, ...given })).kind).toBe('permissionDenied');
    }
  });
});
