import type { AgentDefinition } from '../agents/index.js';
import { A2AError } from '../protocol/index.js';

const NONE: readonly string[] = [];

/**
 * The extensions that the client lists and the agent speaks (4.6). Others are ignored; one version of an
 * extension never stands for another.
 * @throws A2AError `extensionSupportRequired` when the client does not list one that the agent requires
 */
export function activeExtensions(agent: AgentDefinition, listed: readonly string[]): readonly string[] {
  if (agent.extensions === undefined || agent.extensions.length === 0) return NONE;
  const missing = agent.extensions.find(({ uri, required }) => required && !listed.includes(uri));
  if (missing) throw new A2AError('extensionSupportRequired', { metadata: { extension: missing.uri } });
  return agent.extensions.map(({ uri }) => uri).filter((uri) => listed.includes(uri));
}
