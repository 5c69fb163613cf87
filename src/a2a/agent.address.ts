import type { AgentDefinition, AgentRegistry } from '../agents/index.js';
import { noSuchAgent } from '../auth/index.js';
import { invalidField } from '../protocol/index.js';

/** Where a call is sent to: the agent that the URL names and the tenant that the request names. */
export interface AgentAddress {
  /** Undefined at the root addresses and on gRPC. */
  readonly agent: string | undefined;
  /** The version that the URL names; undefined at all others. */
  readonly agentVersion?: string;
  /** Empty when the request names none; `agent` or `agent@version`. */
  readonly tenant: string;
}

/** The agent that is called, and the version where the call names one. */
export interface AddressedAgent {
  readonly agent: AgentDefinition;
  readonly agentVersion: string | undefined;
}

/**
 * The agent at an address (4.4.6: the tenant routes to it). Without URL and tenant it is the default one.
 * @throws A2AError `notFound`; `invalidParams` when URL and tenant name two agents or versions
 */
export function agentAt(
  agents: AgentRegistry,
  { agent, agentVersion, tenant }: AgentAddress,
): AddressedAgent {
  const [tenantId = '', tenantVersion] = tenant.split('@', 2);
  const id = agent ?? tenantId;
  const version = agentVersion ?? tenantVersion;
  const found = id === '' ? agents.default : agents.get(id, version);
  if (found === undefined) throw noSuchAgent(version === undefined ? id : `${id}@${version}`);
  const names = [found.id, ...(version === undefined ? [] : [`${found.id}@${version}`])];
  if (tenant !== '' && !names.includes(tenant)) {
    throw invalidField('tenant', `must be empty or "${names.join('" or "')}", the agent at this address`);
  }
  return { agent: found, agentVersion: version };
}
