import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TaskService } from '../../src/a2a/task.service.js';
import { ApiKeyStrategy } from '../../src/auth/api-key.strategy.js';
import { FailedLogins } from '../../src/auth/failed.logins.js';
import { hashOf, newApiKeyText, writeApiKey } from '../../src/auth/index.js';
import { Issuers } from '../../src/auth/issuers.js';
import { JwtStrategy } from '../../src/auth/jwt.strategy.js';
import { PassportAuthenticator } from '../../src/auth/passport.authenticator.js';
import { CardKeys } from '../../src/cards/card.keys.js';
import { CardService } from '../../src/cards/index.js';
import { BINDINGS, callAny } from '../support/any.binding.js';
import { startBindings } from '../support/bindings.js';
import { testConfig } from '../support/config.js';
import { FakeAgents, fakeAgent } from '../support/fake.agents.js';
import { FakeApiKeys } from '../support/fake.api-keys.js';
import { FakeAudit } from '../support/fake.audit.js';
import { FakeOperations } from '../support/fake.operations.js';

const skill = (id: string) => ({ id, name: id, description: `Does ${id}`, tags: ['x'] });
const AGENTS = [
  fakeAgent({
    id: 'guarded',
    skills: [skill('open')],
    extendedSkills: [
      { skill: skill('known') },
      { skill: skill('audit'), scope: 'books.audit' },
      { skill: skill('close'), scope: 'books.close' },
    ],
  }),
  fakeAgent({ id: 'plain' }),
  fakeAgent({ id: 'empty', extendedSkills: [] }),
];

let app: NestFastifyApplication;
let service: { httpUrl: string; grpcAddress: string };
let cards: CardService;
const keys = new FakeApiKeys();

beforeAll(async () => {
  const config = testConfig({ PARLEY_API_KEYS: 'true' });
  cards = new CardService(new FakeAgents(AGENTS), config, new CardKeys());
  await cards.publish({
    interfaces: BINDINGS.map((binding) => ({ binding, version: '1.0' })),
    url: 'https://agents.example.com',
    grpc: 'agents.example.com:443',
    pushNotifications: false,
  });
  const operations = new FakeOperations();
  operations.getExtendedAgentCard = (request, call) =>
    TaskService.prototype.getExtendedAgentCard.call({ cards } as unknown as TaskService, request, call);
  const failures = new FailedLogins(config, new FakeAudit());
  const jwt = new JwtStrategy(config, new Issuers(config));
  const authenticator = new PassportAuthenticator(config, jwt, new ApiKeyStrategy(config, keys), failures);
  const bindings = await startBindings({ agents: AGENTS, operations, authenticator, cards });
  app = bindings.app;
  service = { httpUrl: bindings.url, grpcAddress: bindings.grpc };
});
afterAll(() => app.close());

async function holderOf(...scopes: string[]): Promise<Record<string, string>> {
  const text = newApiKeyText();
  await keys.add({
    ...{ id: text.id, hash: hashOf(text.secret), name: 'k', organisation: 'acme', subject: text.id },
    ...{ scopes, actsForOthers: false, createdAt: new Date() },
  });
  return { 'x-api-key': writeApiKey(text) };
}

describe.each(BINDINGS)('The extended card on %s', (binding) => {
  const ask = (tenant: string, headers: Record<string, string> = {}) =>
    callAny(service, { binding, operation: 'getExtendedAgentCard', request: { tenant }, headers });
  const skillsFor = async (...scopes: string[]) => {
    const { reply } = await ask('guarded', await holderOf('a2a.card', ...scopes));
    return (reply as unknown as { skills: { id: string }[] }).skills.map(({ id }) => id);
  };

  it('is for callers with a good credential alone, whether there is one or not (B63, S002-039)', async () => {
    for (const agent of ['guarded', 'plain', 'empty']) {
      const wrong: Record<string, string>[] = [
        {},
        { 'x-api-key': 'wrong' },
        { authorization: 'Bearer wrong' },
      ];
      for (const headers of wrong) {
        expect((await ask(agent, headers)).reason).toBe('UNAUTHENTICATED');
      }
    }
  });

  it('shows the public skills, and of the others those that the caller has the scope for (S002-040, S002-041)', async () => {
    expect(await skillsFor()).toEqual(['open', 'known']);
    expect(await skillsFor('books.audit')).toEqual(['open', 'known', 'audit']);
    expect(await skillsFor('books.audit', 'books.close')).toEqual(['open', 'known', 'audit', 'close']);
  });

  it('is not there, or not configured, and says which (B63, S003-19, S002-038)', async () => {
    const headers = await holderOf('a2a.card');

    expect((await ask('plain', headers)).reason).toBe('UNSUPPORTED_OPERATION');
    expect((await ask('empty', headers)).reason).toBe('EXTENDED_AGENT_CARD_NOT_CONFIGURED');
  });

  it('needs the scope for it', async () => {
    const refused = await ask('guarded', await holderOf('books.audit'));
    expect(refused).toMatchObject({ reason: 'PERMISSION_DENIED', metadata: { scope: 'a2a.card' } });
  });
});

describe('A card', () => {
  it('declares an extended one where there is one, and shows none of its skills', () => {
    const flags = AGENTS.map(({ id }) => cards.ofAgent(id).card.capabilities?.extendedAgentCard);

    expect(flags).toEqual([true, false, true]);
    expect(cards.ofAgent('guarded').current.body.toString()).not.toContain('audit');
  });

  it('that is extended stays out of shared caches (B120)', async () => {
    const response = await fetch(`${service.httpUrl}/agents/guarded/rest/extendedAgentCard`, {
      headers: { 'a2a-version': '1.0', ...(await holderOf('a2a.card')) },
    });

    expect(response.status).toBe(200);
    expect(response.headers.get('cache-control')).toMatch(/^private/);
    expect(response.headers.get('vary')).toContain('Authorization');
  });
});
