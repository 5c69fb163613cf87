import {
  AGENT_SETTINGS,
  type AgentDefinition,
  type AgentEvent,
  AgentExecutor,
  AgentRegistry,
} from '../../src/agents/index.js';

class IdleExecutor extends AgentExecutor {
  async *execute(): AsyncIterable<AgentEvent> {}
}

/** A complete definition; the test says only what matters to it. */
export function fakeAgent(given: Partial<AgentDefinition> = {}): AgentDefinition {
  return {
    id: 'echo',
    name: 'Echo',
    description: 'Says it again',
    version: '1.2.3',
    skills: [{ id: 'echo', name: 'Echo', description: 'Says it again', tags: ['demo'] }],
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    streaming: true,
    settings: AGENT_SETTINGS,
    executor: new IdleExecutor(),
    ...given,
  };
}

/** The first agent is the default one. */
export class FakeAgents extends AgentRegistry {
  constructor(private readonly agents: readonly AgentDefinition[] = [fakeAgent()]) {
    super();
  }

  versions(id: string): readonly AgentDefinition[] {
    return this.agents.filter((agent) => agent.id === id);
  }

  list(): readonly AgentDefinition[] {
    return this.agents.filter((agent) => agent === this.get(agent.id));
  }

  get default(): AgentDefinition {
    return this.agents[0]!;
  }
}
