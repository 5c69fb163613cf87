import { Logger } from '@nestjs/common';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { FakeApiKeys } from '../../test/support/fake.api-keys.js';
import { FakeAudit } from '../../test/support/fake.audit.js';
import { AUDIENCE, type Forgery, OidcIssuer } from '../../test/support/oidc.issuer.js';
import { loadConfig } from '../config/index.js';
import { A2AError } from '../protocol/index.js';
import { ApiKeyStrategy } from './api-key.strategy.js';
import type { Credentials } from './authenticator.js';
import { FailedLogins } from './failed.logins.js';
import { Issuers } from './issuers.js';
import { JwtStrategy } from './jwt.strategy.js';
import { PassportAuthenticator } from './passport.authenticator.js';

let issuer: OidcIssuer;
let other: OidcIssuer;
beforeAll(async () => {
  Logger.overrideLogger(false);
  [issuer, other] = await Promise.all([OidcIssuer.start('ES256'), OidcIssuer.start('RS256')]);
});
afterAll(() => Promise.all([issuer.stop(), other.stop()]));
afterEach(() => vi.useRealTimers());

const SECOND = 1000;
/** Moves the clock without waiting. Sockets and timers go on as they are. */
const later = (ms: number) => vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + ms });

function authenticator(env: Record<string, string> = {}, audit = new FakeAudit()): PassportAuthenticator {
  const config = loadConfig({
    PARLEY_OIDC_ISSUERS: `${issuer.url},${other.url}`,
    PARLEY_OIDC_AUDIENCE: `else,${AUDIENCE}`,
    PARLEY_PUBLIC_URL: 'https://parley.example',
    ...env,
  });
  const jwt = new JwtStrategy(config, new Issuers(config));
  return new PassportAuthenticator(
    config,
    jwt,
    new ApiKeyStrategy(config, new FakeApiKeys()),
    new FailedLogins(config, audit),
  );
}

const bearer = (token: string): Credentials => ({
  header: (name) => (name === 'authorization' ? `Bearer ${token}` : undefined),
});

async function refusal(credentials: Credentials, by = authenticator()): Promise<A2AError> {
  const result = await by.authenticate(credentials, 'getTask').catch((error: unknown) => error);
  if (result instanceof A2AError) return result;
  throw new Error(`It was not refused: ${JSON.stringify(result)}`);
}

describe('A bearer token of an OpenID Connect issuer', () => {
  it('tells who calls and what the caller may do', async () => {
    const principal = await authenticator().authenticate(bearer(await issuer.token('a2a.send a2a.read')));

    expect(principal).toEqual({
      organisation: issuer.url,
      subject: 'planner',
      scopes: new Set(['a2a.send', 'a2a.read']),
    });
  });

  it('may come from any of several issuers, whose subjects stay apart', async () => {
    const door = authenticator();
    const one = await door.authenticate(bearer(await issuer.forge()));
    const two = await door.authenticate(bearer(await other.forge()));

    expect([one.subject, two.subject]).toEqual(['ann', 'ann']);
    expect(one.organisation).not.toBe(two.organisation);
  });

  it('is mapped by the configured claims, nested ones and lists too', async () => {
    const door = authenticator({
      PARLEY_OIDC_SUBJECT_CLAIM: 'user.id',
      PARLEY_OIDC_ORGANISATION_CLAIM: 'https://example.com/org',
      PARLEY_OIDC_SCOPE_CLAIMS: 'scope,realm_access.roles',
      PARLEY_SCOPE_NAMES: 'a2a.cancel=agent:manage',
    });
    const claims = {
      user: { id: 'u-1' },
      'https://example.com/org': 'acme',
      // The last one is our own name, which this deployment's tokens do not use.
      scope: 'openid a2a.read a2a.cancel',
      realm_access: { roles: ['agent:manage', 7, 'admin'] },
      act: { sub: 'gateway', act: { sub: 'browser' } },
    };

    expect(await door.authenticate(bearer(await issuer.forge({ claims })))).toEqual({
      organisation: 'acme',
      subject: 'u-1',
      scopes: new Set(['a2a.read', 'a2a.cancel', 'openid', 'agent:manage', 'admin']),
      actor: 'gateway',
    });
  });

  const inSeconds = (seconds: number) => Math.floor(Date.now() / 1000) + seconds;
  it.each<[string, () => Forgery, string]>([
    [
      'for another audience',
      () => ({ claims: { aud: 'https://else.example' } }),
      'audience (aud) of the token',
    ],
    ['without an audience', () => ({ claims: { aud: undefined } }), 'audience (aud) of the token'],
    [
      'of an unknown issuer',
      () => ({ claims: { iss: 'https://evil.example' } }),
      'issuer of the token is not accepted',
    ],
    ['without an issuer', () => ({ claims: { iss: undefined } }), 'issuer of the token is not accepted'],
    ["in another issuer's name", () => ({ claims: { iss: other.url } }), 'key of the token is not known'],
    ['signed with another key', () => ({ foreignKey: true }), 'signature of the token is not valid'],
    ['that has expired', () => ({ claims: { exp: inSeconds(-61) } }), 'has expired'],
    ['that is not valid yet', () => ({ claims: { nbf: inSeconds(62) } }), 'not valid yet'],
    ['that never expires', () => ({ claims: { exp: undefined } }), 'no end'],
    ['without a subject', () => ({ claims: { sub: undefined } }), 'no usable "sub"'],
    ['with an empty subject', () => ({ claims: { sub: '' } }), 'no usable "sub"'],
    ['with a subject that Postgres cannot keep', () => ({ claims: { sub: 'a\u0000b' } }), 'no usable "sub"'],
    ['with a very long subject', () => ({ claims: { sub: 'x'.repeat(256) } }), 'no usable "sub"'],
    ['of an unknown key', () => ({ header: { kid: 'nobody' } }), 'key of the token is not known'],
  ])('%s is refused', async (_what, forgery, message) => {
    const door = authenticator();
    const error = await refusal(bearer(await issuer.forge(forgery())), door);

    expect(error.kind).toBe('unauthenticated');
    expect(error.message).toContain(message);
    expect(error.challenge).toContain('error="invalid_token"');
    expect((await door.authenticate(bearer(await issuer.forge()))).subject).toBe('ann');
  });

  it.each([
    [
      'an organisation, where one is configured',
      { PARLEY_OIDC_ORGANISATION_CLAIM: 'org' },
      'no usable "org"',
    ],
    ['an accepted algorithm', { PARLEY_OIDC_ALGORITHMS: 'RS256' }, 'algorithm of the token is not accepted'],
  ])('needs %s', async (_what, env, message) => {
    expect((await refusal(bearer(await issuer.forge()), authenticator(env))).message).toContain(message);
  });

  it.each(['x', 'a.b.c', `${btoa('{"alg":"none"}')}.${btoa('{"sub":"ann"}')}.`])(
    '%s is no token',
    async (token) => {
      expect((await refusal(bearer(token))).kind).toBe('unauthenticated');
    },
  );

  it('is refused unsigned and with the public key taken for a shared secret', async () => {
    const [, payload] = (await issuer.forge()).split('.');
    for (const alg of ['none', 'HS256']) {
      const header = Buffer.from(JSON.stringify({ alg })).toString('base64url');
      expect((await refusal(bearer(`${header}.${payload}.c2ln`))).message).toContain('algorithm');
    }
  });

  it('counts for a minute beyond its end, as clocks differ, and not for longer', async () => {
    const door = authenticator();
    const token = await issuer.forge();
    await door.authenticate(bearer(token));

    later(300 * SECOND + 50 * SECOND);
    expect((await door.authenticate(bearer(token))).subject).toBe('ann');
    later(11 * SECOND);
    expect((await refusal(bearer(token), door)).message).toContain('expired');
  });
});

describe('A caller without a good credential', () => {
  it('is told where to get one (RFC 9728), and which scope to ask for', async () => {
    const { kind, challenge } = await refusal({ header: () => undefined });

    expect(kind).toBe('unauthenticated');
    expect(challenge).toBe(
      'Bearer realm="parley", scope="a2a.read", resource_metadata="https://parley.example/.well-known/oauth-protected-resource"',
    );
  });

  it.each(['Basic YTpi', 'Bearer', 'Bearer ', 'Bearer a b', 'bearer\ttoken'])(
    'is refused with "%s"',
    async (value) => {
      const credentials: Credentials = { header: (name) => (name === 'authorization' ? value : undefined) };

      expect((await refusal(credentials)).challenge).toContain('error="invalid_token"');
    },
  );

  it('may not use an API key where none are accepted', async () => {
    const credentials: Credentials = { header: (name) => (name === 'x-api-key' ? 'pk_0' : undefined) };

    expect((await refusal(credentials)).message).toBe('API keys are not accepted');
  });

  it('may not name a subject with a token', async () => {
    const token = await issuer.forge();
    const credentials: Credentials = {
      header: (name) => (name === 'parley-subject' ? 'bob' : bearer(token).header(name)),
    };

    expect((await refusal(credentials)).kind).toBe('permissionDenied');
  });
});

describe('The keys of an issuer (B60)', () => {
  let door: PassportAuthenticator;
  beforeEach(async () => {
    door = authenticator();
    await door.authenticate(bearer(await issuer.forge()));
  });

  it('are read once for many callers, and the signature of one token is checked once a minute', async () => {
    const fresh = authenticator();
    const before = issuer.keyReads;
    const token = await issuer.forge();
    await Promise.all(Array.from({ length: 20 }, () => fresh.authenticate(bearer(token))));

    expect(issuer.keyReads - before).toBe(1);
  });

  it('may change while the service runs', async () => {
    const old = await issuer.forge();
    await issuer.rotate();
    const before = issuer.keyReads;
    const tokens = await Promise.all([issuer.token(), issuer.forge(), issuer.forge()]);
    const principals = await Promise.all(tokens.map((token) => door.authenticate(bearer(token))));

    expect(principals.map(({ subject }) => subject)).toEqual(['planner', 'ann', 'ann']);
    expect(issuer.keyReads - before).toBe(1);
    expect((await refusal(bearer(old), door)).kind).toBe('unauthenticated');
  });

  it('are not asked for again and again by made-up key ids', async () => {
    const before = issuer.keyReads;
    for (let n = 0; n < 100; n++)
      await refusal(bearer(await issuer.forge({ header: { kid: `made-up-${n}` } })), door);
    expect(issuer.keyReads - before).toBe(1);

    await issuer.rotate();
    later(11 * SECOND);
    expect((await door.authenticate(bearer(await issuer.forge()))).subject).toBe('ann');
    expect(issuer.keyReads - before).toBe(2);
  });

  it('are read again from time to time, without a call that waits for it', async () => {
    const before = issuer.keyReads;
    later(601 * SECOND);
    const token = await issuer.forge();
    await door.authenticate(bearer(token));

    await vi.waitFor(() => expect(issuer.keyReads - before).toBe(1), { timeout: 20_000 });
  });

  it('outlast an outage of the issuer', async () => {
    await issuer.fail();
    try {
      later(3600 * SECOND);
      expect((await door.authenticate(bearer(await issuer.forge()))).subject).toBe('ann');
      const stranger = bearer(await issuer.forge({ header: { kid: 'new' } }));
      expect(await refusal(stranger, door)).toMatchObject({ kind: 'unavailable', retryAfter: 1 });
    } finally {
      await issuer.recover();
    }
  });

  it('are waited for by a service that has started before its issuer', async () => {
    const early = authenticator();
    const token = bearer(await issuer.forge());
    await issuer.fail();
    expect(await refusal(token, early)).toMatchObject({ kind: 'unavailable' });
    await issuer.recover();
    later(2 * SECOND);

    expect((await early.authenticate(token)).subject).toBe('ann');
  });
});

describe('Wrong credentials (S002-165)', () => {
  const from = (address: string, token: string): Credentials => ({ ...bearer(token), address });

  it('make their address wait, whatever it tries next; nobody else', async () => {
    const door = authenticator({ PARLEY_LIMIT_FAILED_LOGINS: '3' });
    const good = await issuer.forge();
    const late = await issuer.forge({ claims: { sub: 'late' } });
    await door.authenticate(from('192.0.2.1', good));
    for (let n = 0; n < 3; n++) {
      expect((await refusal(from('192.0.2.1', 'wrong'), door)).kind).toBe('unauthenticated');
    }

    expect(await refusal(from('192.0.2.1', late), door)).toMatchObject({
      kind: 'rateLimited',
      retryAfter: 20,
    });
    expect((await door.authenticate(from('192.0.2.2', late))).subject).toBe('late');
    expect((await door.authenticate(from('192.0.2.1', good))).subject).toBe('ann');
  });

  it('are told to the audit log, and when they are too many; never what they were', async () => {
    const audit = new FakeAudit();
    const door = authenticator({ PARLEY_LIMIT_FAILED_LOGINS: '2' }, audit);
    for (let n = 0; n < 5; n++) await refusal(from('192.0.2.1', 'open-sesame'), door);

    expect(audit.records.map(({ act }) => act)).toEqual(['login.failed', 'login.failed', 'login.throttled']);
    expect(audit.records[0]).toEqual({
      ...{ act: 'login.failed', address: '192.0.2.1', reason: 'The token is not a JWT' },
    });
    expect(JSON.stringify(audit.records)).not.toContain('sesame');
  });
});
