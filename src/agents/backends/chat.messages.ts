import { toJson } from '@bufbuild/protobuf';
import { ValueSchema } from '@bufbuild/protobuf/wkt';
import { type Message, type Part, Role, type Task } from '../../protocol/index.js';
import type { TurnContext } from '../agent.executor.js';

const CHARACTERS_PER_TOKEN = 4;
/** What an image is taken for, whatever its size. */
const IMAGE_TOKENS = 1_000;

export type ChatPart = { type: 'text'; text: string } | { type: 'image_url'; image_url: { url: string } };
export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string | ChatPart[];
}

/**
 * The conversation of the turn's context for a chat model: the earlier tasks, then this one, oldest first. What
 * does not fit `contextTokens` is left out from the old end; the turn's own message always stays.
 */
export async function chatMessages(
  turn: TurnContext,
  contextTokens: number,
  system?: string,
): Promise<ChatMessage[]> {
  const earlier = (await turn.earlierTasks()).reverse();
  const talk = [
    ...earlier.flatMap(talkOf),
    ...turn.history.map(chatMessage).filter(({ content }) => content.length > 0),
  ];
  const first: ChatMessage[] = system === undefined ? [] : [{ role: 'system', content: system }];
  let left = contextTokens - first.reduce((sum, message) => sum + tokensOf(message), 0);
  const kept: ChatMessage[] = [];
  for (const message of talk.reverse()) {
    left -= tokensOf(message);
    if (left < 0 && kept.length > 0) break;
    kept.push(message);
  }
  return [...first, ...kept.reverse()];
}

/** What was said, and what the agent made of it: its answers are artifacts. */
function talkOf(task: Task): ChatMessage[] {
  const answer = task.artifacts
    .flatMap(({ parts }) => parts)
    .map(textOfPart)
    .join('');
  const said = task.history.map(chatMessage).filter(({ content }) => content.length > 0);
  return answer === '' ? said : [...said, { role: 'assistant', content: answer }];
}

function chatMessage({ role, parts }: Message): ChatMessage {
  if (role === Role.AGENT) return { role: 'assistant', content: parts.map(textOfPart).join('\n') };
  const content = parts.map(chatPart);
  const texts = content.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  return { role: 'user', content: texts.length === content.length ? texts.join('\n') : content };
}

function chatPart(part: Part): ChatPart {
  const { content, mediaType } = part;
  if (mediaType.startsWith('image/') && content.case === 'url') {
    return { type: 'image_url', image_url: { url: content.value } };
  }
  if (mediaType.startsWith('image/') && content.case === 'raw') {
    const base64 = Buffer.from(content.value).toString('base64');
    return { type: 'image_url', image_url: { url: `data:${mediaType};base64,${base64}` } };
  }
  return { type: 'text', text: textOfPart(part) };
}

/** A part in words: a file of text is its text, any other one its name. */
function textOfPart({ content, mediaType, filename }: Part): string {
  switch (content.case) {
    case 'text':
      return content.value;
    case 'data':
      return JSON.stringify(toJson(ValueSchema, content.value));
    case 'url':
      return `[${filename || 'file'}: ${content.value}]`;
    case 'raw': {
      const text = mediaType.startsWith('text/') || mediaType === 'application/json';
      return text ? Buffer.from(content.value).toString('utf8') : `[${filename || 'file'}, ${mediaType}]`;
    }
    default:
      return '';
  }
}

function tokensOf({ content }: ChatMessage): number {
  if (typeof content === 'string') return Math.ceil(content.length / CHARACTERS_PER_TOKEN);
  return content.reduce(
    (sum, part) =>
      sum + (part.type === 'text' ? Math.ceil(part.text.length / CHARACTERS_PER_TOKEN) : IMAGE_TOKENS),
    0,
  );
}
