import { create } from '@bufbuild/protobuf';
import type { ExtendedSkill } from '../agents/index.js';
import type { Config } from '../config/index.js';
import { type AgentCard, AgentCardSchema } from '../protocol/index.js';
import { securityOf } from './card.security.js';
import { type AgentAddress, interfacesOf, type Served } from './served.js';

/** Served beside the bindings for every agent; its page is src/a2a/CHANGES.md. */
const CHANGE_FEED = {
  uri: 'https://parley.dev/extensions/change-feed/v1',
  description: 'GET /agents/{agent}/changes: tasks whose status changed since a cursor, to catch up',
};

/** Which card of an agent. */
export interface WantedCard extends AgentAddress {
  /** What its reader may see beside the skills that all see. */
  readonly extendedSkills?: readonly ExtendedSkill[];
}

/**
 * The card of an agent (specification 4.4.1), the public one or with skills of the extended one, from its definition and from what is served. Field by
 * field, so that nothing else of a definition can ever show; capability flags are always written.
 */
export function agentCard(wanted: WantedCard, served: Served, config: Config): AgentCard {
  const { agent, extendedSkills = [] } = wanted;
  return create(AgentCardSchema, {
    name: agent.name,
    description: agent.description,
    version: agent.version,
    provider: agent.provider,
    documentationUrl: agent.documentationUrl,
    iconUrl: agent.iconUrl,
    supportedInterfaces: interfacesOf(wanted, served),
    capabilities: {
      streaming: agent.streaming,
      pushNotifications: served.pushNotifications,
      extendedAgentCard: agent.extendedSkills !== undefined,
      extensions: [...(agent.extensions ?? []), CHANGE_FEED],
    },
    defaultInputModes: [...agent.defaultInputModes],
    defaultOutputModes: [...agent.defaultOutputModes],
    skills: [...agent.skills, ...extendedSkills.map(({ skill }) => skill)],
    ...securityOf(config, served.pushNotifications, agent.access?.scopes),
  });
}
