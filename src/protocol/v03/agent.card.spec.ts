import { create, type JsonObject, type MessageInitShape, toJson } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { type AgentCard, AgentCardSchema, SecuritySchemeSchema } from '../gen/a2a_pb.js';
import * as pb from '../gen/a2a_v03_pb.js';
import { decodeMessage, encodeMessage } from '../json.codec.js';
import { cardForms, cardProto } from './agent.card.js';

type SchemeInit = MessageInitShape<typeof SecuritySchemeSchema>;

const scopes = { 'a2a.send': 'Send messages' };
const SCHEMES: Record<string, SchemeInit> = {
  key: {
    scheme: {
      case: 'apiKeySecurityScheme',
      value: { location: 'header', name: 'X-Key', description: 'A key' },
    },
  },
  http: { scheme: { case: 'httpAuthSecurityScheme', value: { scheme: 'bearer', bearerFormat: 'JWT' } } },
  oidc: {
    scheme: { case: 'openIdConnectSecurityScheme', value: { openIdConnectUrl: 'https://i.example/c' } },
  },
  mtls: { scheme: { case: 'mtlsSecurityScheme', value: { description: 'Certificate' } } },
  oauth: {
    scheme: {
      case: 'oauth2SecurityScheme',
      value: {
        oauth2MetadataUrl: 'https://i.example/m',
        flows: {
          flow: {
            case: 'authorizationCode',
            value: { authorizationUrl: 'https://i.example/a', tokenUrl: 'https://i.example/t', scopes },
          },
        },
      },
    },
  },
  machine: {
    scheme: {
      case: 'oauth2SecurityScheme',
      value: {
        flows: { flow: { case: 'clientCredentials', value: { tokenUrl: 'https://i.example/t', scopes } } },
      },
    },
  },
};

const served = (protocolBinding: string, protocolVersion: string, tenant = '') => ({
  url: `https://a.example/${protocolBinding}`,
  ...{ protocolBinding, protocolVersion, tenant },
});

function cardOf(given: MessageInitShape<typeof AgentCardSchema> = {}): AgentCard {
  return create(AgentCardSchema, {
    ...{ name: 'Übersetzer', description: 'translates', version: '1.2.3', iconUrl: 'https://a.example/i' },
    provider: { url: 'https://p.example', organization: 'P' },
    capabilities: {
      streaming: false,
      pushNotifications: true,
      extensions: [{ uri: 'urn:e', required: true }],
    },
    supportedInterfaces: [served('JSONRPC', '1.0'), served('JSONRPC', '0.3'), served('GRPC', '0.3', 'other')],
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [
      {
        ...{ id: 's', name: 'S', description: 'does', tags: ['t'], examples: ['e'] },
        securityRequirements: [{ schemes: { key: {} } }],
      },
    ],
    securitySchemes: SCHEMES as never,
    securityRequirements: [{ schemes: { oidc: { list: ['a2a.send'] } } }, { schemes: { key: {} } }],
    signatures: [{ protected: 'p', signature: 's' }],
    ...given,
  } as never);
}

describe('A card in 0.3', () => {
  it('is pure: what 0.3 knows, and where 0.3 is served (S001-01)', () => {
    const { securitySchemes: _, ...legacy } = cardForms(cardOf())!.legacy;
    const url = 'https://a.example/JSONRPC';
    expect(legacy).toEqual({
      protocolVersion: '0.3.0',
      ...{ name: 'Übersetzer', description: 'translates', version: '1.2.3', iconUrl: 'https://a.example/i' },
      provider: { url: 'https://p.example', organization: 'P' },
      capabilities: {
        streaming: false,
        pushNotifications: true,
        extensions: [{ uri: 'urn:e', required: true }],
      },
      ...{ url, preferredTransport: 'JSONRPC', additionalInterfaces: [{ url, transport: 'JSONRPC' }] },
      supportsAuthenticatedExtendedCard: false,
      defaultInputModes: ['text/plain'],
      defaultOutputModes: ['text/plain'],
      skills: [
        {
          ...{ id: 's', name: 'S', description: 'does', tags: ['t'], examples: ['e'] },
          security: [{ key: [] }],
        },
      ],
      security: [{ oidc: ['a2a.send'] }, { key: [] }],
    });
  });

  it.each([
    ['key', { type: 'apiKey', in: 'header', name: 'X-Key', description: 'A key' }],
    ['http', { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' }],
    ['oidc', { type: 'openIdConnect', openIdConnectUrl: 'https://i.example/c' }],
    ['mtls', { type: 'mutualTLS', description: 'Certificate' }],
    [
      'oauth',
      {
        type: 'oauth2',
        oauth2MetadataUrl: 'https://i.example/m',
        flows: {
          authorizationCode: {
            authorizationUrl: 'https://i.example/a',
            tokenUrl: 'https://i.example/t',
            scopes,
          },
        },
      },
    ],
    [
      'machine',
      { type: 'oauth2', flows: { clientCredentials: { tokenUrl: 'https://i.example/t', scopes } } },
    ],
  ])('has the scheme %s in both spellings of 0.3 (B114, S002-158)', (name, expected) => {
    const schemes = cardForms(cardOf())!.legacy.securitySchemes as Record<string, JsonObject>;
    const proto = toJson(SecuritySchemeSchema, create(SecuritySchemeSchema, SCHEMES[name])) as JsonObject;
    expect(schemes[name]).toEqual({ ...expected, ...proto });
  });

  it('is the same card over gRPC, with its schemes', () => {
    const card = toJson(pb.AgentCardSchema, cardProto(cardForms(cardOf())!.legacy)) as JsonObject;
    expect(card).toMatchObject({
      ...{ protocolVersion: '0.3.0', name: 'Übersetzer', url: 'https://a.example/JSONRPC' },
      security: [{ schemes: { oidc: { list: ['a2a.send'] } } }, { schemes: { key: {} } }],
      skills: [{ id: 's', security: [{ schemes: { key: {} } }] }],
    });
    const schemes = encodeMessage(AgentCardSchema, cardOf()).securitySchemes;
    expect(card.securitySchemes).toEqual(schemes);
  });

  it('says whether there is an extended one', () => {
    const capabilities = { extendedAgentCard: true };
    const { legacy } = cardForms(cardOf({ capabilities }))!;
    expect(legacy.supportsAuthenticatedExtendedCard).toBe(true);
    expect(legacy.capabilities).toEqual({});
  });

  it('is none for an agent that is not served in it', () => {
    expect(cardForms(cardOf({ supportedInterfaces: [served('JSONRPC', '1.0')] }))).toBeUndefined();
  });
});

it('A card in both forms reads in 1.0 as it was, signatures and all', () => {
  const card = cardOf();
  expect(decodeMessage(AgentCardSchema, cardForms(card)!.both)).toEqual(card);
});
