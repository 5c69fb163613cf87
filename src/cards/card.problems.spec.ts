import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { testConfig } from '../../test/support/config.js';
import { fakeAgent } from '../../test/support/fake.agents.js';
import { AgentCardSchema } from '../protocol/index.js';
import { agentCard } from './agent.card.js';
import { cardProblems } from './card.problems.js';

const served = {
  interfaces: [{ binding: 'JSONRPC', version: '1.0' }] as const,
  url: 'https://agents.example.com',
  grpc: 'agents.example.com:443',
  pushNotifications: false,
};
const { $typeName: _, ...good } = agentCard(
  { agent: fakeAgent(), isDefault: true, place: 'plain' },
  served,
  testConfig(),
);
type CardInit = MessageInitShape<typeof AgentCardSchema>;
const problemsWith = (change: CardInit) =>
  cardProblems(create(AgentCardSchema, { ...good, ...change } as CardInit));

describe('A card', () => {
  it('has no problem when all that is REQUIRED is there', () => {
    expect(problemsWith({})).toEqual([]);
  });

  it.each([
    ['name', { name: '' }],
    ['description', { description: '' }],
    ['version', { version: '' }],
    ['supportedInterfaces', { supportedInterfaces: [] }],
    ['capabilities', { capabilities: undefined }],
    ['defaultInputModes', { defaultInputModes: [] }],
    ['defaultOutputModes', { defaultOutputModes: [] }],
    ['skills', { skills: [] }],
    ['skills[0].tags', { skills: [{ id: 'a', name: 'A', description: 'Does a' }] }],
    [
      'supportedInterfaces[0].url',
      { supportedInterfaces: [{ protocolBinding: 'GRPC', protocolVersion: '1.0' }] },
    ],
    ['provider.organization', { provider: { url: 'https://example.com' } }],
  ] as [string, CardInit][])('cannot be published with an empty %s (S002-021, D19)', (path, change) => {
    expect(problemsWith(change)).toEqual([`${path} is required and is empty`]);
  });

  it('names every problem at once', () => {
    const skill = { id: 'a', name: '', description: '', tags: ['x'] };

    expect(problemsWith({ name: '', skills: [skill, skill], defaultInputModes: ['text'] })).toEqual([
      'name is required and is empty',
      'skills[0].name is required and is empty',
      'skills[0].description is required and is empty',
      'skills[1].name is required and is empty',
      'skills[1].description is required and is empty',
      'defaultInputModes has "text", which is no media type',
      'two skills have the id "a"',
    ]);
  });

  it('requires only security schemes that it declares', () => {
    expect(problemsWith({ securityRequirements: [{ schemes: { login: {} } }] })).toEqual([
      'the security scheme "login" is required but not declared',
    ]);
  });

  it.each(['implicit', 'password'] as const)('does not publish the deprecated %s flow (D11)', (flow) => {
    const oauth = { flows: { flow: { case: flow, value: { scopes: {} } } } };

    expect(
      problemsWith({
        securitySchemes: { login: { scheme: { case: 'oauth2SecurityScheme', value: oauth } } },
      } as CardInit),
    ).toEqual([`securitySchemes.login uses the deprecated flow "${flow}"`]);
  });
});
