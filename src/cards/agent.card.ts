import { create } from '@bufbuild/protobuf';
import type { AgentDefinition, ExtendedSkill } from '../agents/index.js';
import type { Config } from '../config/index.js';
import { type AgentCard, AgentCardSchema, CHANGE_FEED_URI, extensionPath } from '../protocol/index.js';
import { securityOf } from './card.security.js';
import { type AgentAddress, interfacesOf, type Served } from './served.js';

/** Served beside the bindings for every agent. */
const CHANGE_FEED = {
  uri: CHANGE_FEED_URI,
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
      extensions: [...(agent.extensions ?? []), CHANGE_FEED].map((one) => documented(one, served)),
    },
    defaultInputModes: [...agent.defaultInputModes],
    defaultOutputModes: [...agent.defaultOutputModes],
    skills: [...agent.skills, ...extendedSkills.map(({ skill }) => skill)],
    ...securityOf(config, served.pushNotifications, agent.access?.scopes),
  });
}

type Declared = NonNullable<AgentDefinition['extensions']>[number];

/** An extension of the service's own with the address of the page about it, here where it is served. */
function documented(extension: Declared, { url }: Served) {
  const path = extensionPath(extension.uri);
  return path === undefined ? extension : { ...extension, params: { documentation: url + path } };
}
