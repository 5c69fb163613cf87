import type { ConfigValues } from '../config/index.js';
import type { AgentAccess, AgentDefinition } from './agent.definition.js';
import { codeReviewer, conformance, deployer, echo, testRunner } from './samples/index.js';

type AccessOptions = Pick<ConfigValues, 'privateAgents' | 'agentOrganisations' | 'agentScopes'>;
export type BuiltInOptions = Pick<ConfigValues, 'deploymentsFile'> & Partial<AccessOptions>;

/** The agents that come with Parley. */
export function builtInAgents({ deploymentsFile, ...access }: BuiltInOptions): AgentDefinition[] {
  const all = [echo, testRunner, codeReviewer, deployer(deploymentsFile), conformance];
  return all.map((agent) => withAccess(agent, access));
}

/** Narrows who may use an agent by the settings that name it. */
export function withAccess(agent: AgentDefinition, options: Partial<AccessOptions>): AgentDefinition {
  const { id, access } = agent;
  const narrowed: AgentAccess = {
    isPrivate: options.privateAgents?.includes(id) || (access?.isPrivate ?? false),
    organisations: options.agentOrganisations?.[id] ?? access?.organisations,
    scopes: options.agentScopes?.[id] ?? access?.scopes,
  };
  return { ...agent, access: narrowed };
}
