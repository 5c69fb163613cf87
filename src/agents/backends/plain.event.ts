import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { z } from 'zod';
import { decodeMessage, PartSchema, Role, TaskState } from '../../protocol/index.js';
import { dataPart, type PartInit, textPart } from '../agent.events.js';
import { type AgentEvent, AgentFailure } from '../agent.executor.js';

const json = z.custom<JsonValue>((value) => value !== undefined);
const object = z.record(z.string(), json) as unknown as z.ZodType<JsonObject>;

/** What is said: `text`, `data` (any JSON), `parts` (as in A2A: text, data, raw, url), or several of them. */
const said = {
  text: z.string().optional(),
  data: json.optional(),
  parts: z.array(json).optional(),
  metadata: object.optional(),
};
type Said = { text?: string; data?: JsonValue; parts?: JsonValue[] };

const status = <const T extends string>(type: T) => z.object({ type: z.literal(type), ...said });

const PlainEvent = z.discriminatedUnion('type', [
  status('status'),
  status('message'),
  status('ask'),
  status('auth'),
  status('done'),
  status('fail'),
  status('reject'),
  z.object({
    type: z.literal('artifact'),
    ...said,
    id: z.string().optional(),
    name: z.string().optional(),
    description: z.string().optional(),
    append: z.boolean().optional(),
    last: z.boolean().optional(),
  }),
]);
type PlainEvent = z.output<typeof PlainEvent>;

/** The whole answer at once: without a type it is an artifact that completes the task. */
const PlainReply = z.union([
  PlainEvent,
  z.object({ events: z.array(PlainEvent).min(1) }),
  z.object(said).refine(({ text, data, parts }) => text !== undefined || data !== undefined || parts),
]);

const STATES = {
  status: TaskState.WORKING,
  ask: TaskState.INPUT_REQUIRED,
  auth: TaskState.AUTH_REQUIRED,
  done: TaskState.COMPLETED,
  fail: TaskState.FAILED,
  reject: TaskState.REJECTED,
} as const;

/** The agent said something that nobody can read. The caller learns no more than that. */
export class UnreadableAnswer extends AgentFailure {
  constructor(cause?: unknown) {
    super('The agent gave an answer that cannot be read.', { cause });
  }
}

/**
 * One event in the words that agents of any language use: `{"type": "status" | "artifact" | "message" | "ask" |
 * "auth" | "done" | "fail" | "reject", ...}`.
 *
 * @throws UnreadableAnswer
 */
export function readEvent(value: unknown): AgentEvent {
  const result = PlainEvent.safeParse(value);
  if (!result.success) throw new UnreadableAnswer(result.error);
  return agentEvent(result.data);
}

/** As {@link readEvent}, from one line of JSON. */
export function readEventText(line: string): AgentEvent {
  return readEvent(parsed(line));
}

/**
 * A whole answer: one event, `{"events": [...]}`, or `{"text" | "data" | "parts": ...}`, which completes the task
 * with an artifact.
 *
 * @throws UnreadableAnswer
 */
export function readReply(text: string): AgentEvent[] {
  const result = PlainReply.safeParse(parsed(text));
  if (!result.success) throw new UnreadableAnswer(result.error);
  const reply = result.data;
  if ('type' in reply) return [agentEvent(reply)];
  if ('events' in reply) return reply.events.map(agentEvent);
  return [agentEvent({ type: 'artifact', ...reply }), agentEvent({ type: 'done', metadata: reply.metadata })];
}

/** Whether the turn ends with the event, as far as the agent is concerned. */
export function endsTurn(event: AgentEvent): boolean {
  if (event.case === 'message') return true;
  return event.case === 'statusUpdate' && event.value.status?.state !== TaskState.WORKING;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UnreadableAnswer(error);
  }
}

function agentEvent(event: PlainEvent): AgentEvent {
  const parts = partsOf(event);
  if (event.type === 'message') {
    return { case: 'message', value: { role: Role.AGENT, parts, metadata: event.metadata } };
  }
  if (event.type === 'artifact') {
    const { id: artifactId, name, description, metadata, append, last: lastChunk } = event;
    return {
      case: 'artifactUpdate',
      value: { artifact: { artifactId, name, description, parts, metadata }, append, lastChunk },
    };
  }
  const message = parts.length > 0 ? { role: Role.AGENT, parts } : undefined;
  return {
    case: 'statusUpdate',
    value: { status: { state: STATES[event.type], message }, metadata: event.metadata },
  };
}

function partsOf({ text, data, parts = [] }: Said): PartInit[] {
  try {
    return [
      ...(text === undefined ? [] : [textPart(text)]),
      ...(data === undefined ? [] : [dataPart(data)]),
      ...parts.map((part) => decodeMessage(PartSchema, part)),
    ];
  } catch (error) {
    throw new UnreadableAnswer(error);
  }
}
