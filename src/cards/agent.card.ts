import { create } from '@bufbuild/protobuf';
import type { Config } from '../config/index.js';
import { type AgentCard, AgentCardSchema } from '../protocol/index.js';
import { securityOf } from './card.security.js';
import { type AgentAddress, interfacesOf, type Served } from './served.js';

/**
 * The public card of an agent (specification 4.4.1), from its definition and from what is served. Field by
 * field, so that nothing else of a definition can ever show; capability flags are always written.
 */
export function agentCard(address: AgentAddress, served: Served, config: Config): AgentCard {
  const { agent } = address;
  return create(AgentCardSchema, {
    name: agent.name,
    description: agent.description,
    version: agent.version,
    provider: agent.provider,
    documentationUrl: agent.documentationUrl,
    iconUrl: agent.iconUrl,
    supportedInterfaces: interfacesOf(address, served),
    capabilities: {
      streaming: agent.streaming,
      pushNotifications: served.pushNotifications,
      extendedAgentCard: false,
      extensions: [...(agent.extensions ?? [])],
    },
    defaultInputModes: [...agent.defaultInputModes],
    defaultOutputModes: [...agent.defaultOutputModes],
    skills: [...agent.skills],
    ...securityOf(config, served.pushNotifications),
  });
}
