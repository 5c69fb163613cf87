import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AgentCard as SdkCard, verifyAgentCardSignature } from '@a2a-js/sdk';
import { DefaultAgentCardResolver } from '@a2a-js/sdk/client';
import { Module } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createRemoteJWKSet, decodeProtectedHeader, flattenedVerify, type JWK } from 'jose';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { testConfig } from '../../test/support/config.js';
import { FakeAgents, fakeAgent } from '../../test/support/fake.agents.js';
import { listen } from '../../test/support/http.js';
import { AgentRegistry } from '../agents/index.js';
import { Config } from '../config/index.js';
import { CardController } from './card.controller.js';
import { CardKeys } from './card.keys.js';
import { CardReaders } from './card.readers.js';
import { CardService } from './card.service.js';
import { JwksController } from './jwks.controller.js';

let folder: string;
const apps: NestFastifyApplication[] = [];
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'parley-card-keys-'));
  // The SDK's verifier tells of each signature that it tried in vain.
  vi.spyOn(console, 'debug').mockImplementation(() => undefined);
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await Promise.all(apps.map((app) => app.close()));
});

function file(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

const pkcs8 = { type: 'pkcs8', format: 'pem' } as const;
const spki = { type: 'spki', format: 'pem' } as const;
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ecPem = ec.privateKey.export(pkcs8).toString();
const rsaPem = rsa.privateKey.export(pkcs8).toString();

/** Everything that writers of canonical JSON have been seen to disagree on (B99), and the members of 0.3 beside. */
const AGENT = fakeAgent({
  name: 'Übersetzer 日本 😀',
  description: 'a "quote", a \\ and a \u2028 <b>&amp;</b>',
  provider: { organization: 'Żółw', url: 'https://example.com' },
  streaming: false,
  extensions: [{ uri: 'https://example.com/x', required: false, description: '' }],
  skills: [{ id: 'a', name: 'A', description: 'Does a', tags: ['ö'], examples: [], inputModes: [] }],
});

async function serve(env: Record<string, string>): Promise<string> {
  const config = testConfig(env);
  @Module({
    controllers: [CardController, JwksController],
    providers: [
      CardService,
      { provide: CardReaders, useValue: { check: async () => undefined } },
      { provide: Config, useValue: config },
      { provide: AgentRegistry, useValue: new FakeAgents([AGENT]) },
      { provide: CardKeys, useFactory: () => CardKeys.load(config) },
    ],
  })
  class SignedCards {}
  const app = await listen(SignedCards, config);
  apps.push(app);
  const url = await app.getUrl();
  await app.get(CardService).publish({
    interfaces: [
      { binding: 'JSONRPC', version: '1.0' },
      { binding: 'JSONRPC', version: '0.3' },
    ],
    url,
    grpc: 'localhost:1',
    pushNotifications: false,
  });
  return url;
}

interface SignedCard {
  readonly signatures: readonly { protected: string; signature: string }[];
}
const cardAt = async (url: string) =>
  (await (await fetch(`${url}/.well-known/agent-card.json`)).json()) as SignedCard & Record<string, unknown>;
/** The card as it came: the SDK's own decoded form has no place for security schemes once it is encoded again. */
const wireCardAt = async (url: string) => (await cardAt(url)) as unknown as SdkCard;
const headersOf = ({ signatures }: SignedCard) =>
  signatures.map(({ protected: header }) => decodeProtectedHeader({ protected: header }));

/** Verifies as a stranger would: with the keys at the `jku` of the signature. */
const verify = (card: SdkCard) =>
  verifyAgentCardSignature(async (kid, jku) => {
    const { keys } = (await (await fetch(jku ?? '')).json()) as { keys: JWK[] };
    const key = keys.find((candidate) => candidate.kid === kid);
    if (key === undefined) throw new Error(`No key ${kid}`);
    return key;
  })(card);

describe.each([
  ['ES256', ecPem],
  ['RS256', rsaPem],
])('A card signed with %s', (alg, pem) => {
  let url: string;
  beforeAll(async () => {
    url = await serve({
      PARLEY_CARD_SIGNING_KEYS: file(`${alg}.pem`, pem),
      PARLEY_OIDC_ISSUERS: 'https://login.example.com',
      PARLEY_OIDC_AUDIENCE: 'parley',
      PARLEY_API_KEYS: 'true',
    });
  });

  it('says how it is signed and where the key is (S002-044)', async () => {
    const [header] = headersOf(await cardAt(url));

    expect(header).toEqual({
      alg,
      typ: 'JOSE',
      kid: expect.any(String),
      jku: `${url}/.well-known/jwks.json`,
    });
  });

  it("verifies with the SDK's verifier, whatever its texts and defaults (S002-045)", async () => {
    await verify(await wireCardAt(url));
  });

  it('verifies over the bytes that are served (B99, S002-043)', async () => {
    const { signatures, ...unsigned } = await cardAt(url);
    const sorted = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(sorted);
      if (typeof value !== 'object' || value === null) return value;
      return Object.fromEntries(
        Object.entries(value)
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([k, v]) => [k, sorted(v)]),
      );
    };
    const payload = Buffer.from(JSON.stringify(sorted(unsigned))).toString('base64url');
    const keys = createRemoteJWKSet(new URL(`${url}/.well-known/jwks.json`));

    await flattenedVerify({ ...signatures[0]!, payload }, keys, { algorithms: [alg] });
  });

  it('does not verify when anything in it is changed (S002-046)', async () => {
    const card = await wireCardAt(url);
    const changed: Partial<SdkCard>[] = [
      { name: `${card.name} ` },
      { version: '1.2.4' },
      { supportedInterfaces: [] },
      { capabilities: { ...card.capabilities!, streaming: true } },
      { capabilities: { ...card.capabilities!, pushNotifications: undefined } },
      { skills: [{ ...card.skills[0]!, tags: ['o'] }] },
      { securityRequirements: [] },
      { securitySchemes: {} },
    ];
    for (const change of changed) {
      await expect(verify({ ...card, ...change })).rejects.toThrow('No valid signatures');
    }
  });
});

describe('The keys of the cards', () => {
  it('are published without anything private, and named in their thumbprint', async () => {
    const url = await serve({ PARLEY_CARD_SIGNING_KEYS: `${file('a.pem', ecPem)},${file('b.pem', rsaPem)}` });
    const response = await fetch(`${url}/.well-known/jwks.json`);
    const { keys } = (await response.json()) as { keys: JWK[] };

    expect(response.headers.get('content-type')).toContain('json');
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    expect(keys.map((key) => Object.keys(key).sort())).toEqual([
      ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'],
      ['alg', 'e', 'kid', 'kty', 'n', 'use'],
    ]);
    expect(keys[0]?.kid).toMatch(/^[\w-]{43}$/);
  });

  it('are two while one takes over from the other (S002-047)', async () => {
    const oldOnly = await serve({ PARLEY_CARD_SIGNING_KEYS: file('old.pem', ecPem) });
    const oldCard = await cardAt(oldOnly);
    const jwk = JSON.stringify({ ...rsa.privateKey.export({ format: 'jwk' }), kid: '2026-12' });
    const both = await serve({
      PARLEY_CARD_SIGNING_KEY: jwk,
      PARLEY_CARD_SIGNING_KEYS: file('old.pem', ecPem),
    });
    const retired = await serve({
      PARLEY_CARD_SIGNING_KEY: jwk,
      PARLEY_CARD_SIGNING_KEYS: file('old.pub', ec.publicKey.export(spki).toString()),
    });
    const oldKid = headersOf(oldCard)[0]?.kid;

    expect(headersOf(await cardAt(both)).map(({ kid }) => kid)).toEqual(['2026-12', oldKid]);
    expect(headersOf(await cardAt(retired)).map(({ kid }) => kid)).toEqual(['2026-12']);
    for (const url of [both, retired]) {
      const { keys } = (await (await fetch(`${url}/.well-known/jwks.json`)).json()) as { keys: JWK[] };
      expect(keys.map(({ kid }) => kid)).toEqual(['2026-12', oldKid]);
      await verify(await wireCardAt(url));
    }
  });

  it('give every replica the same entity tag, and a new one when they change', async () => {
    const config = testConfig({ PARLEY_CARD_SIGNING_KEYS: file('same.pem', ecPem) });
    const tag = async (keys: CardKeys) => {
      const cards = new CardService(new FakeAgents([AGENT]), config, keys);
      const served = { interfaces: [{ binding: 'GRPC', version: '1.0' }] as const, url: 'https://a.example' };
      await cards.publish({ ...served, grpc: 'a.example:1', pushNotifications: false });
      return cards.atRoot().current.etag;
    };
    const keys = await CardKeys.load(config);

    expect(await tag(keys)).toBe(await tag(keys));
    expect(await tag(keys)).not.toBe(await tag(new CardKeys()));
  });

  it('are found by a client of the SDK that resolves the card itself', async () => {
    const url = await serve({ PARLEY_CARD_SIGNING_KEYS: file('resolved.pem', ecPem) });

    await verify(await new DefaultAgentCardResolver().resolve(url));
  });

  it('are none without configuration, and then there is no key set', async () => {
    const url = await serve({});

    expect((await fetch(`${url}/.well-known/jwks.json`)).status).toBe(404);
    expect(await cardAt(url)).not.toHaveProperty('signatures');
  });

  const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey.export(pkcs8).toString();
  const small = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey.export(pkcs8).toString();
  const secret = JSON.stringify({ kty: 'oct', k: 'c2VjcmV0', alg: 'HS256' });
  it.each([
    ['missing', () => join(folder, 'nowhere'), 'cannot be read (ENOENT)'],
    ['no key', () => file('text', 'hello'), 'holds no key'],
    ['broken JSON', () => file('json', '{'), 'holds no key'],
    ['a shared secret (HS256)', () => file('oct', secret), 'holds no key'],
    ['on another curve', () => file('p384', p384), 'give a P-256 key'],
    ['too small', () => file('small', small), 'at least 2048 bits'],
    ['public only', () => file('pub', ec.publicKey.export(spki).toString()), 'none of the keys is private'],
  ])('keep the service from starting when one is %s', async (_what, path, problem) => {
    await expect(CardKeys.load(testConfig({ PARLEY_CARD_SIGNING_KEYS: path() }))).rejects.toThrow(problem);
  });
});

describe('The security of a card', () => {
  it('is what the configuration accepts, each scheme alone with the scopes by their names there', async () => {
    const url = await serve({
      PARLEY_OIDC_ISSUERS: 'https://login.example.com/,https://other.example',
      PARLEY_OIDC_AUDIENCE: 'parley',
      PARLEY_API_KEYS: 'true',
      PARLEY_SCOPE_NAMES: 'a2a.send=agent:spawn',
    });
    const { securitySchemes, securityRequirements } = await cardAt(url);
    const list = ['agent:spawn', 'a2a.read', 'a2a.cancel'];

    expect(securitySchemes).toMatchObject({
      oidc: {
        openIdConnectSecurityScheme: {
          openIdConnectUrl: 'https://login.example.com/.well-known/openid-configuration',
        },
      },
      oidc2: {
        openIdConnectSecurityScheme: {
          openIdConnectUrl: 'https://other.example/.well-known/openid-configuration',
        },
      },
      apiKey: { apiKeySecurityScheme: { location: 'header', name: 'X-API-Key' } },
    });
    expect(securityRequirements).toEqual([
      { schemes: { oidc: { list } } },
      { schemes: { oidc2: { list } } },
      { schemes: { apiKey: { list } } },
    ]);
  });

  it('is not mentioned by an open service', async () => {
    const card = await cardAt(await serve({}));

    expect(card).not.toHaveProperty('securitySchemes');
    expect(card).not.toHaveProperty('securityRequirements');
  });
});
