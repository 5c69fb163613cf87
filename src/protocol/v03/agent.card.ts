import { fromJson, type JsonObject, type JsonValue } from '@bufbuild/protobuf';
import { type AgentCard, AgentCardSchema } from '../gen/a2a_pb.js';
import * as pb from '../gen/a2a_v03_pb.js';
import { encodeMessage } from '../json.codec.js';

/** Which release of 0.3 the cards claim. */
const VERSION = '0.3.0';

/** The two JSON forms of a card whose agent serves 0.3. */
export interface CardForms {
  /** What 0.3 alone knows. */
  readonly legacy: JsonObject;
  /** The 1.0 card with the members of 0.3 beside its own; readers of either find theirs. */
  readonly both: JsonObject;
}

/** Undefined for an agent that is not served in 0.3. */
export function cardForms(card: AgentCard): CardForms | undefined {
  // 0.3 has no word for a tenant: an interface that needs one cannot be told.
  const interfaces = card.supportedInterfaces
    .filter(({ protocolVersion, tenant }) => protocolVersion === '0.3' && tenant === '')
    .map(({ url, protocolBinding }) => ({ url, transport: protocolBinding }));
  const [preferred] = interfaces;
  if (preferred === undefined) return undefined;
  const json = encodeMessage(AgentCardSchema, card);
  const own = {
    protocolVersion: VERSION,
    url: preferred.url,
    preferredTransport: preferred.transport,
    additionalInterfaces: interfaces,
    supportsAuthenticatedExtendedCard: card.capabilities?.extendedAgentCard ?? false,
    ...securityOf(json),
  };
  const skills = (json.skills as JsonObject[]).map((skill) => ({ ...skill, ...securityOf(skill) }));
  return {
    legacy: {
      ...without(json, 'supportedInterfaces', 'securityRequirements', 'signatures'),
      ...own,
      capabilities: without(json.capabilities as JsonObject, 'extendedAgentCard'),
      skills: skills.map((skill) => without(skill, 'securityRequirements')),
    },
    both: { ...json, ...own, skills },
  };
}

/** The card as gRPC sends it, from its 0.3 JSON. */
export function cardProto(legacy: JsonObject): pb.AgentCard {
  const skills = (legacy.skills as JsonObject[]).map((skill) => ({ ...skill, ...protoSecurity(skill) }));
  return fromJson(
    pb.AgentCardSchema,
    { ...legacy, ...protoSecurity(legacy), skills },
    { ignoreUnknownFields: true },
  );
}

const without = (json: JsonObject, ...names: readonly string[]): JsonObject =>
  Object.fromEntries(Object.entries(json).filter(([name]) => !names.includes(name)));

function securityOf({ securityRequirements, securitySchemes }: JsonObject): JsonObject {
  const json: JsonObject = {};
  if (securityRequirements) json.security = (securityRequirements as JsonObject[]).map(namesOf);
  if (securitySchemes) {
    const schemes = Object.entries(securitySchemes as Record<string, JsonObject>);
    json.securitySchemes = Object.fromEntries(schemes.map(([name, scheme]) => [name, bothSpellings(scheme)]));
  }
  return json;
}

/** `{schemes: {oidc: {list: [...]}}}` as `{oidc: [...]}`. */
function namesOf({ schemes }: JsonObject): JsonObject {
  const entries = Object.entries((schemes ?? {}) as Record<string, JsonObject>);
  return Object.fromEntries(entries.map(([name, { list }]) => [name, list ?? []]));
}

function protoSecurity({ security }: JsonObject): JsonObject {
  const requirements = (security ?? []) as JsonObject[];
  return {
    security: requirements.map((requirement) => ({
      schemes: Object.fromEntries(Object.entries(requirement).map(([name, list]) => [name, { list }])),
    })),
  };
}

const TYPES: Readonly<Record<string, string>> = {
  apiKeySecurityScheme: 'apiKey',
  httpAuthSecurityScheme: 'http',
  oauth2SecurityScheme: 'oauth2',
  openIdConnectSecurityScheme: 'openIdConnect',
  mtlsSecurityScheme: 'mutualTLS',
};

/** A scheme as the JSON schema of 0.3 has it (told by `type`) and as its proto has it, in one object. */
function bothSpellings(scheme: JsonObject): JsonObject {
  const [[name, value] = ['', null]] = Object.entries(scheme) as [string, JsonValue][];
  const { location, ...fields } = value as JsonObject;
  const type = TYPES[name] ?? name;
  return { type, ...(location === undefined ? {} : { in: location }), ...fields, ...scheme };
}
