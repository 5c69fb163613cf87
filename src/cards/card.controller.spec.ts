import { Module } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testConfig } from '../../test/support/config.js';
import { FakeAgents, fakeAgent } from '../../test/support/fake.agents.js';
import { FakeAudit } from '../../test/support/fake.audit.js';
import { listen } from '../../test/support/http.js';
import { AGENT_SETTINGS, AgentRegistry } from '../agents/index.js';
import { AnonymousAuthenticator, Authenticator, Policy } from '../auth/index.js';
import { ScopePolicy } from '../auth/scope.policy.js';
import { Config } from '../config/index.js';
import { CardController } from './card.controller.js';
import { CardKeys } from './card.keys.js';
import { CardReaders } from './card.readers.js';
import { CardService, InvalidCards } from './card.service.js';
import type { Served } from './served.js';

const SERVED: Served = {
  interfaces: [
    { binding: 'JSONRPC', version: '1.0' },
    { binding: 'HTTP+JSON', version: '1.0' },
    { binding: 'GRPC', version: '1.0' },
    { binding: 'JSONRPC', version: '0.3' },
  ],
  url: 'https://agents.example.com/base',
  grpc: 'agents.example.com:443',
  pushNotifications: false,
};
const AGENTS = new FakeAgents([
  fakeAgent({ id: 'echo' }),
  fakeAgent({
    id: 'old',
    name: 'Übersetzer 日本',
    streaming: false,
    settings: { ...AGENT_SETTINGS, v03: true },
  }),
]);

@Module({
  controllers: [CardController],
  providers: [
    CardService,
    CardReaders,
    { provide: Authenticator, useValue: new AnonymousAuthenticator() },
    { provide: Policy, useValue: new ScopePolicy(testConfig(), new FakeAudit()) },
    { provide: AgentRegistry, useValue: AGENTS },
    { provide: Config, useValue: testConfig() },
    { provide: CardKeys, useValue: new CardKeys() },
  ],
})
class CardsUnderTest {}

interface JsonCard {
  readonly name: string;
  readonly capabilities: object;
  readonly supportedInterfaces: readonly { url: string; tenant?: string }[];
}

let app: NestFastifyApplication;
let url: string;

beforeAll(async () => {
  app = await listen(CardsUnderTest, testConfig());
  url = await app.getUrl();
});
afterAll(() => app.close());

const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(url + path, { method, headers });
const cardAt = async (path: string) => (await (await get(path)).json()) as JsonCard;
const interfaces = async (path: string) => (await cardAt(path)).supportedInterfaces;

describe('The public card', () => {
  it('is unavailable for a moment, until the service knows its addresses', async () => {
    const response = await get('/.well-known/agent-card.json');

    expect(response.status).toBe(503);
    await app.get(CardService).publish(SERVED);
    expect((await get('/.well-known/agent-card.json')).status).toBe(200);
  });

  it.each(['/.well-known/agent-card.json', '/.well-known/a2a/v1/agent-card.json'])(
    'of the default agent is at %s with the root addresses',
    async (path) => {
      expect(await interfaces(path)).toEqual([
        {
          url: 'https://agents.example.com/base/jsonrpc',
          protocolBinding: 'JSONRPC',
          protocolVersion: '1.0',
        },
        { url: 'https://agents.example.com/base/rest', protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
        { url: 'agents.example.com:443', protocolBinding: 'GRPC', protocolVersion: '1.0' },
      ]);
    },
  );

  it.each([
    '/agents/old/card',
    '/agents/old/.well-known/agent-card.json',
    '/agents/old/.well-known/a2a/v1/agent-card.json',
  ])(
    'of another agent is at %s with its own addresses, and names it as tenant on gRPC only (S003-12)',
    async (path) => {
      expect(await interfaces(path)).toEqual([
        {
          url: 'https://agents.example.com/base/agents/old/jsonrpc',
          protocolBinding: 'JSONRPC',
          protocolVersion: '1.0',
        },
        {
          url: 'https://agents.example.com/base/agents/old/rest',
          protocolBinding: 'HTTP+JSON',
          protocolVersion: '1.0',
        },
        { url: 'agents.example.com:443', protocolBinding: 'GRPC', protocolVersion: '1.0', tenant: 'old' },
        {
          url: 'https://agents.example.com/base/agents/old/jsonrpc',
          protocolBinding: 'JSONRPC',
          protocolVersion: '0.3',
        },
      ]);
    },
  );

  it('of the default agent at its own address has its own URLs and no tenant', async () => {
    const [jsonrpc, , grpc] = await interfaces('/agents/echo/card');

    expect(jsonrpc?.url).toBe('https://agents.example.com/base/agents/echo/jsonrpc');
    expect(grpc?.tenant).toBeUndefined();
  });

  it('says of every capability whether it is there (S002-027)', async () => {
    const card = await cardAt('/agents/old/card');

    expect(card.capabilities).toMatchObject({
      streaming: false,
      pushNotifications: false,
      extendedAgentCard: false,
    });
  });

  it('holds nothing of a definition that is not meant to be seen (S004-37, S003-11)', async () => {
    const card = await cardAt('/agents/echo/card');

    expect(Object.keys(card).sort()).toEqual([
      'capabilities',
      'defaultInputModes',
      'defaultOutputModes',
      'description',
      'name',
      'skills',
      'supportedInterfaces',
      'version',
    ]);
    expect((await cardAt('/agents/old/card')).name).toBe('Übersetzer 日本');
  });

  it('is unmoved by the Host and X-Forwarded-* of a request (B118)', async () => {
    const poisoned = await get('/.well-known/agent-card.json', {
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'http',
      'x-forwarded-prefix': '/evil',
      forwarded: 'host=evil.example',
    });

    expect(await poisoned.text()).not.toContain('evil');
    expect(await (await get('/.well-known/agent-card.json')).text()).not.toContain('evil');
  });

  it('answers an unknown agent with a JSON 404 that says nothing else', async () => {
    for (const id of ['nobody', '..%2Fecho', 'constructor', '%00']) {
      const response = await get(`/agents/${id}/card`);

      expect(response.status).toBe(404);
      expect(response.headers.get('content-type')).toContain('json');
      expect(await response.json()).toMatchObject({ error: { code: 404, status: 'NOT_FOUND' } });
    }
  });
});

describe('A cache of public cards', () => {
  const path = '/agents/old/card';

  it('may keep a card and ask for a newer one (S002-031, B120)', async () => {
    const first = await get(path);
    const etag = first.headers.get('etag')!;

    expect(first.headers.get('cache-control')).toBe('public, max-age=300');
    expect(first.headers.get('vary')).toContain('A2A-Version');
    expect(first.headers.get('content-type')).toContain('application/json');
    expect(etag).toMatch(/^"[\w-]{43}"$/);
    for (const held of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const again = await get(path, { 'if-none-match': held });
      expect(again.status).toBe(304);
      expect(await again.text()).toBe('');
      expect(again.headers.get('etag')).toBe(etag);
      expect(again.headers.get('cache-control')).toBe('public, max-age=300');
    }
    expect((await get(path, { 'if-none-match': '"other"' })).status).toBe(200);
  });

  it('may ask by date, which the entity tag outranks', async () => {
    const { headers } = await get(path);
    const date = headers.get('last-modified')!;
    const earlier = new Date(Date.parse(date) - 1000).toUTCString();

    expect((await get(path, { 'if-modified-since': date })).status).toBe(304);
    expect((await get(path, { 'if-modified-since': earlier })).status).toBe(200);
    expect((await get(path, { 'if-modified-since': 'yesterday' })).status).toBe(200);
    expect((await get(path, { 'if-modified-since': date, 'if-none-match': '"other"' })).status).toBe(200);
  });

  it('sees another entity tag for another card, and the same one from another replica', async () => {
    const other = await get('/agents/echo/card');
    const replica = new CardService(AGENTS, testConfig(), new CardKeys());
    await replica.publish(SERVED);

    expect(other.headers.get('etag')).not.toBe((await get(path)).headers.get('etag'));
    expect((await get(path)).headers.get('etag')).toBe(replica.ofAgent('old').current.etag);
  });

  it('learns as much from HEAD as from GET', async () => {
    const head = await get(path, {}, 'HEAD');
    const full = await get(path);

    expect(head.status).toBe(200);
    expect(head.headers.get('etag')).toBe(full.headers.get('etag'));
    expect(head.headers.get('content-length')).toBe(String(Buffer.byteLength(await full.text())));
    expect(await head.text()).toBe('');
  });
});

describe('A web page of any origin (S002-033)', () => {
  it('may read a card', async () => {
    const response = await get('/.well-known/agent-card.json', { origin: 'https://page.example' });

    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    expect(response.headers.get('access-control-allow-credentials')).toBeNull();
  });

  it('is told so in advance', async () => {
    const headers = { origin: 'https://page.example', 'access-control-request-headers': 'a2a-version' };
    const response = await get('/agents/echo/card', headers, 'OPTIONS');

    expect(response.status).toBe(204);
    expect(response.headers.get('access-control-allow-methods')).toBe('GET, HEAD, OPTIONS');
    expect(response.headers.get('access-control-allow-headers')).toContain('A2A-Version');
  });
});

describe('A service with an incomplete agent', () => {
  it('does not start, and says all that is missing', async () => {
    const cards = new CardService(
      new FakeAgents([fakeAgent({ name: '' }), fakeAgent({ id: 'b', skills: [], version: '' })]),
      testConfig(),
      new CardKeys(),
    );

    await expect(cards.onModuleInit()).rejects.toThrow(InvalidCards);
    await expect(cards.onModuleInit()).rejects.toThrow(
      /echo: name is required and is empty\n.*b: version is required and is empty\n.*b: skills is required/,
    );
  });
});
