import type { AgentDefinition, AgentRegistry } from '../agents/index.js';
import { noSuchAgent } from '../auth/index.js';
import { invalidField } from '../protocol/index.js';

/** Where a call is sent to: the agent that the URL names and the tenant that the request names. */
export interface AgentAddress {
  /** Undefined at the root addresses and on gRPC. */
  readonly agent: string | undefined;
  /** Empty when the request names none. */
  readonly tenant: string;
}

/**
 * The agent at an address (4.4.6: the tenant routes to it). Without URL and tenant it is the default one.
 * @throws A2AError `notFound`; `invalidParams` when URL and tenant name two agents
 */
export function agentAt(agents: AgentRegistry, { agent, tenant }: AgentAddress): AgentDefinition {
  const id = agent ?? tenant;
  const found = id === '' ? agents.default : agents.get(id);
  if (found === undefined) throw noSuchAgent(id);
  if (tenant !== '' && tenant !== found.id) {
    throw invalidField('tenant', `must be empty or "${found.id}", the agent at this address`);
  }
  return found;
}
