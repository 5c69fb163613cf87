import type { AgentDefinition } from '../agents/index.js';
import { A2AError, type Message, type Part } from '../protocol/index.js';

/** What a part counts as when it does not say. */
const DEFAULTS = {
  text: 'text/plain',
  data: 'application/json',
  raw: 'application/octet-stream',
  url: 'application/octet-stream',
} as const;

/** Refuses a message with a part that the agent, or the skill it names in `metadata.skillId`, does not take. */
export function checkMediaTypes(message: Message, agent: AgentDefinition): void {
  const skill = agent.skills.find(({ id }) => id !== undefined && id === message.metadata?.skillId);
  const modes = skill?.inputModes?.length ? skill.inputModes : agent.defaultInputModes;
  for (const [i, part] of message.parts.entries()) {
    const type = mediaTypeOf(part);
    if (type === undefined || modes.some((mode) => matches(mode, type))) continue;
    throw new A2AError('contentTypeNotSupported', {
      message: `message.parts[${i}]: ${type} is not taken here; the agent takes ${modes.join(', ')}`,
      metadata: { mediaType: type, supported: modes.join(', ') },
    });
  }
}

function mediaTypeOf({ mediaType, content }: Part): string | undefined {
  if (mediaType) return mediaType.split(';', 1)[0]!.trim().toLowerCase();
  return content.case && DEFAULTS[content.case];
}

/** `mode` may be a whole type, `image/*`, or `*` + `/*`. */
function matches(mode: string, type: string): boolean {
  const wanted = mode.toLowerCase();
  if (wanted === '*/*' || wanted === type) return true;
  return wanted.endsWith('/*') && type.startsWith(wanted.slice(0, -1));
}
