import { Module } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testConfig } from '../../test/support/config.js';
import { FakeApiKeys } from '../../test/support/fake.api-keys.js';
import { FakeAudit } from '../../test/support/fake.audit.js';
import { listen } from '../../test/support/http.js';
import { ApiKeyStrategy } from '../auth/api-key.strategy.js';
import { FailedLogins } from '../auth/failed.logins.js';
import { ApiKeys, AuditLog, Authenticator } from '../auth/index.js';
import { Issuers } from '../auth/issuers.js';
import { JwtStrategy } from '../auth/jwt.strategy.js';
import { PassportAuthenticator } from '../auth/passport.authenticator.js';
import { Config } from '../config/index.js';
import { KeyController } from './key.controller.js';
import { OperatorGuard } from './operator.guard.js';

const TOKEN = 'correct-horse';
const store = new FakeApiKeys();
const audit = new FakeAudit();
let app: NestFastifyApplication;
let url: string;

beforeAll(async () => {
  const config = testConfig({ PARLEY_OPERATOR_TOKEN: TOKEN, PARLEY_API_KEYS: 'true' });
  const jwt = new JwtStrategy(config, new Issuers(config));
  const door = new PassportAuthenticator(
    config,
    jwt,
    new ApiKeyStrategy(config, store),
    new FailedLogins(config, audit),
  );
  @Module({
    controllers: [KeyController],
    providers: [
      OperatorGuard,
      { provide: Config, useValue: config },
      { provide: Authenticator, useValue: door },
      { provide: AuditLog, useValue: audit },
      { provide: ApiKeys, useValue: new ApiKeys(store, audit) },
    ],
  })
  class KeysUnderTest {}
  app = await listen(KeysUnderTest, config);
  url = `${await app.getUrl()}/operator/keys`;
});
afterAll(() => app.close());

const ask = (
  method: string,
  { path = '', body, token = TOKEN }: { path?: string; body?: object; token?: string } = {},
) =>
  fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
    body: body && JSON.stringify(body),
  });
const KEY = { name: 'ci', organisation: 'acme', scopes: ['a2a.send'] };

interface MadeKey {
  readonly id: string;
  readonly key: string;
  readonly subject: string;
}
const make = async (given: object = {}) =>
  (await (await ask('POST', { body: { ...KEY, ...given } })).json()) as MadeKey;

describe('An API key', () => {
  it('is shown once, when it is made; only its hash is kept', async () => {
    const response = await ask('POST', { body: KEY });
    const made = (await response.json()) as MadeKey;
    const listed = await (await ask('GET')).text();
    const stored = await store.find(made.id);

    expect(response.status).toBe(201);
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(made.key).toMatch(/^pk_[0-9a-f]{16}_[\w-]{43}$/);
    expect(made.subject).toBe(`key:${made.id}`);
    expect(listed).toContain(made.id);
    for (const kept of [listed, JSON.stringify(stored)]) expect(kept).not.toContain(made.key.slice(20));
    expect(listed).not.toContain('hash');
  });

  it.each([
    [{ scopes: [] }, 'scopes'],
    [{ scopes: ['a2a.everything'] }, 'scopes.0'],
    [{ organisation: '' }, 'organisation'],
    [{ name: undefined }, 'name'],
    [{ agents: [] }, 'agents'],
    [{ agents: ['No Such'] }, 'agents.0'],
    [{ expiresAt: '2020-01-01T00:00:00Z' }, 'expiresAt'],
    [{ expiresAt: 'soon' }, 'expiresAt'],
    [{ admin: true }, 'admin'],
  ])('is not made of %j', async (wrong, field) => {
    const response = await ask('POST', { body: { ...KEY, ...wrong } });

    expect(response.status).toBe(400);
    const { error } = (await response.json()) as { error: { message: string; details: object[] } };
    expect(error.message.split(':')[0]).toBe(field);
    expect(error.details).toContainEqual(
      expect.objectContaining({ fieldViolations: [expect.objectContaining({ field })] }),
    );
  });

  it('is revoked by its id', async () => {
    const { id } = await make();

    expect((await ask('DELETE', { path: `/${id}` })).status).toBe(204);
    expect((await store.find(id))?.revokedAt).toBeInstanceOf(Date);
    expect((await ask('DELETE', { path: '/0123456789abcdef' })).status).toBe(404);
    expect((await ask('DELETE', { path: '/%00' })).status).toBe(400);
    expect((await ask('GET', { path: '?organisation=%00' })).status).toBe(400);
  });

  it("opens the operators' API where it has the scope for it, and not otherwise", async () => {
    const operator = await make({ scopes: ['parley.operate'] });
    const caller = await make();
    const refused = await ask('GET', { token: caller.key });

    expect((await ask('GET', { token: operator.key })).status).toBe(200);
    expect(refused.status).toBe(403);
    expect(refused.headers.get('www-authenticate')).toContain('scope="parley.operate"');
    expect((await ask('GET', { token: 'wrong' })).status).toBe(401);
  });
});
