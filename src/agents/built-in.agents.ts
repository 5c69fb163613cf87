import { ConfigError, type ConfigValues } from '../config/index.js';
import { type AgentAccess, type AgentDefinition, AgentRegistry } from './agent.definition.js';
import { codeReviewer, conformance, deployer, echo, testRunner } from './samples/index.js';

type AccessOptions = Pick<ConfigValues, 'privateAgents' | 'agentOrganisations' | 'agentScopes'>;
export type BuiltInOptions = Pick<ConfigValues, 'agents' | 'defaultAgent' | 'deploymentsFile'> &
  Partial<AccessOptions>;

/** The agents that come with Parley, those of them that the configuration names, in its order. */
export class BuiltInAgents extends AgentRegistry {
  readonly default: AgentDefinition;
  readonly #agents: ReadonlyMap<string, AgentDefinition>;

  /** @throws ConfigError with every id that no built-in agent has */
  constructor({ agents, defaultAgent, deploymentsFile, ...access }: BuiltInOptions) {
    super();
    const all = [echo, testRunner, codeReviewer, deployer(deploymentsFile), conformance];
    const known = all.map((agent) => ({ ...agent, access: accessOf(agent.id, access) }));
    const find = (id: string) => known.filter((agent) => agent.id === id);
    const [root] = find(defaultAgent);
    const unknown = [...new Set([...agents, defaultAgent])].filter((id) => find(id).length === 0);
    if (!root || unknown.length > 0) {
      const advice = `give some of ${known.map(({ id }) => id).join(', ')}`;
      throw new ConfigError(
        unknown.map((id) => ({ where: 'PARLEY_AGENTS', what: `there is no agent "${id}"; ${advice}` })),
      );
    }
    this.default = root;
    this.#agents = new Map(agents.flatMap(find).map((agent) => [agent.id, agent]));
  }

  get(id: string): AgentDefinition | undefined {
    return this.#agents.get(id);
  }

  list(): readonly AgentDefinition[] {
    return [...this.#agents.values()];
  }
}

function accessOf(id: string, options: Partial<AccessOptions>): AgentAccess {
  return {
    isPrivate: options.privateAgents?.includes(id) ?? false,
    organisations: options.agentOrganisations?.[id],
    scopes: options.agentScopes?.[id],
  };
}
