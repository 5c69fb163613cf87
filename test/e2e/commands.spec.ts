import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { MIGRATIONS } from '../../src/database/index.js';
import { administer, databaseUrl } from '../support/postgres.setup.js';
import { startService } from '../support/service.js';

const CLI = new URL('../../dist/cli.js', import.meta.url).pathname;
const NAMES = MIGRATIONS.map(({ name }) => name);
const name = `parley_test_${randomUUID().replaceAll('-', '')}`;
let url: string;
beforeAll(async () => {
  url = databaseUrl(inject('postgres').url, name);
  await administer(inject('postgres').url, `create database ${name}`);
});
afterAll(() => administer(inject('postgres').url, `drop database ${name} with (force)`));

interface Outcome {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

function parley(args: readonly string[], env: Record<string, string> = {}): Promise<Outcome> {
  const settings = { PATH: process.env.PATH, PARLEY_DATABASE_URL: url, ...env };
  return new Promise((resolve) => {
    execFile(process.execPath, [CLI, ...args], { env: settings }, (error, out, err) =>
      resolve({ code: error ? Number(error.code) : 0, out, err }),
    );
  });
}

describe('parley migrate', () => {
  it('says what is pending and what it would do, and does nothing of it', async () => {
    for (let time = 0; time < 2; time++) {
      const { out } = await parley(['migrate', '--status']);
      expect(out).toBe(NAMES.map((migration) => `pending   ${migration}\n`).join(''));
    }
    const { out } = await parley(['migrate', '--dry-run']);
    expect(out).toContain(`-- ${NAMES[0]}\nCREATE TABLE tasks (`);
  });

  it('runs every migration once when three run it together', async () => {
    const outcomes = await Promise.all([1, 2, 3].map(() => parley(['migrate'])));
    expect(outcomes.map(({ code }) => code)).toEqual([0, 0, 0]);
    expect(outcomes.map(({ out }) => out).sort()).toEqual([
      'Nothing was pending\n',
      'Nothing was pending\n',
      NAMES.map((migration) => `applied   ${migration}\n`).join(''),
    ]);
    const { out } = await parley(['migrate', '--status']);
    expect(out).toBe(NAMES.map((migration) => `applied   ${migration}\n`).join(''));
  });

  it('says in one line what is wrong with the database', async () => {
    const { code, err } = await parley(['migrate'], {
      PARLEY_DATABASE_URL: 'postgres://u:secret@127.0.0.1:1/x',
    });
    expect(code).toBe(1);
    expect(err).toMatch(/^Postgres at 127\.0\.0\.1:1 cannot be reached [^\n]*\n$/);
    expect(err).not.toContain('secret');
  });
});

describe('parley keys', () => {
  it('makes a key that a running service accepts, until it is revoked', async () => {
    const service = await startService({ env: { PARLEY_DATABASE_URL: url, PARLEY_API_KEYS: 'true' } });
    const list = async (key: string) => {
      const headers = { 'A2A-Version': '1.0', Authorization: `Bearer ${key}` };
      return (await fetch(`${service.httpUrl}/rest/tasks`, { headers })).status;
    };
    try {
      const made = await parley([
        'keys',
        'create',
        '--name',
        'ci',
        '--organisation',
        'acme',
        '--scopes',
        'a2a.read',
      ]);
      const key = made.out.trim();
      expect(await list(key)).toBe(200);
      expect(await list(key.replace(/.$/, key.endsWith('A') ? 'B' : 'A'))).toBe(401);

      const [id = '', state] = (await parley(['keys', 'list'])).out.split('\t');
      expect(key).toContain(id);
      expect(made.err).toBe('The service accepts keys with PARLEY_API_KEYS=true alone\n');
      expect(state).toBe('valid');
      expect((await parley(['keys', 'revoke', id])).code).toBe(0);
      expect((await parley(['keys', 'list'])).out).toMatch(new RegExp(`^${id}\trevoked\t`));
    } finally {
      await service.stop();
    }
  });

  it('refuses an agent that cannot exist, and a key that does not', async () => {
    const given = ['--name', 'ci', '--organisation', 'acme', '--scopes', 'a2a.read', '--agents', 'No Agent'];
    const wrong = await parley(['keys', 'create', ...given]);
    expect(wrong).toMatchObject({ code: 1, out: '', err: expect.stringContaining('has to be an agent id') });
    const missing = await parley(['keys', 'revoke', 'x']);
    expect(missing).toEqual({ code: 1, out: '', err: 'There is no such key\n' });
  });
});

describe('parley check', () => {
  it('says that all is right, or everything that is not', async () => {
    expect((await parley(['check'])).out).toContain('The database answers; 0 migrations are pending');
    const { code, err } = await parley(['check'], { PARLEY_HTTP_PORT: 'x', PARLEY_LEASE_MS: 'y' });
    expect(code).toBe(1);
    expect(err).toMatch(/PARLEY_HTTP_PORT: .*\n {2}PARLEY_LEASE_MS: /);
  });
});

describe('parley check of certificates', () => {
  it('says which cannot be used, before a service does', async () => {
    const missing = { PARLEY_TLS_CERT: '/no/cert.pem', PARLEY_TLS_KEY: '/no/key.pem' };
    const { code, err } = await parley(['check'], missing);
    expect([code, err]).toEqual([1, expect.stringMatching(/PARLEY_TLS_CERT, .*cannot be used \(ENOENT/)]);
  });
});

describe('parley card verify', () => {
  it('says why there is no card', async () => {
    const { code, err } = await parley(['card', 'verify', 'http://127.0.0.1:2']);
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(/^http:.*agent-card\.json cannot be read: .*:2\n$/),
    ]);
  });

  it('holds a card that the service signed, and says so of one that is not signed', async () => {
    const { privateKey } = await crypto.subtle
      .generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify'])
      .then(async (pair) => ({ privateKey: await crypto.subtle.exportKey('jwk', pair.privateKey) }));
    const env = { PARLEY_DATABASE_URL: url };
    const signing = await startService({
      env: { ...env, PARLEY_CARD_SIGNING_KEY: JSON.stringify(privateKey) },
    });
    const bare = await startService({ env });
    try {
      const good = await parley(['card', 'verify', signing.httpUrl]);
      expect(good).toMatchObject({ code: 0, out: expect.stringMatching(/\nvalid {2}.*jwks\.json\n$/) });
      const none = await parley(['card', 'verify', `${bare.httpUrl}/agents/echo/card`]);
      expect(none).toMatchObject({ code: 1, err: expect.stringContaining('not signed') });
    } finally {
      await signing.stop();
      await bare.stop();
    }
  });
});
