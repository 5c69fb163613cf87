import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Config, Scope } from '../config/index.js';
import type { AgentCardSchema, SecuritySchemeSchema } from '../protocol/index.js';

type CardInit = MessageInitShape<typeof AgentCardSchema>;
type SchemeInit = MessageInitShape<typeof SecuritySchemeSchema>;

const USUAL_SCOPES: readonly Scope[] = ['a2a.send', 'a2a.read', 'a2a.cancel'];

/**
 * How callers identify themselves: one scheme is enough, with the scopes that the served operations and the agent need. A
 * list without any scope would be signed differently by writers that drop what is empty. Nothing in open mode.
 */
export function securityOf(config: Config, pushNotifications: boolean, agentScopes: readonly string[] = []) {
  const schemes = schemesOf(config);
  const needed: readonly Scope[] = pushNotifications ? [...USUAL_SCOPES, 'a2a.push'] : USUAL_SCOPES;
  const list = [...needed.map((scope) => config.scopeNames[scope]), ...agentScopes];
  return {
    securitySchemes: schemes,
    securityRequirements: Object.keys(schemes).map((name) => ({ schemes: { [name]: { list } } })),
  } satisfies CardInit;
}

function schemesOf({ oidcIssuers, apiKeys, tlsClientCa }: Config): Record<string, SchemeInit> {
  const schemes: Record<string, SchemeInit> = {};
  for (const [index, issuer] of oidcIssuers.entries()) {
    const openIdConnectUrl = `${issuer.replace(/\/+$/, '')}/.well-known/openid-configuration`;
    schemes[index === 0 ? 'oidc' : `oidc${index + 1}`] = {
      scheme: {
        case: 'openIdConnectSecurityScheme',
        value: { openIdConnectUrl, description: `Access token of ${issuer}` },
      },
    };
  }
  if (apiKeys) {
    const value = {
      location: 'header',
      name: 'X-API-Key',
      description: 'Key that the operator has given out',
    };
    schemes.apiKey = { scheme: { case: 'apiKeySecurityScheme', value } };
  }
  if (tlsClientCa) {
    const value = { description: 'Client certificate of an authority that the operator accepts' };
    schemes.mtls = { scheme: { case: 'mtlsSecurityScheme', value } };
  }
  return schemes;
}
