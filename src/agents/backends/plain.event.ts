import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { z } from 'zod';
import { decodeMessage, EXTENSION_URIS, PartSchema, Role, TaskState } from '../../protocol/index.js';
import { dataPart, type PartInit, questionMessage, textPart } from '../agent.events.js';
import { type AgentEvent, AgentFailure } from '../agent.executor.js';
import {
  Effects,
  type Extended,
  extended,
  FileVersion,
  Progress,
  Question,
  Usage,
} from '../extensions/index.js';

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

/** What clients of the extensions get as data. */
const told = {
  progress: Progress.shape.steps.optional(),
  usage: Usage.optional(),
  effects: Effects.shape.effects.optional(),
};

const status = <const T extends string>(type: T) => z.object({ type: z.literal(type), ...said, ...told });
const asking = <const T extends string>(type: T) => status(type).extend({ question: Question.optional() });

const PlainEvent = z.discriminatedUnion(
  'type',
  [
    status('status'),
    z.object({ type: z.literal('message'), ...said }),
    asking('ask'),
    asking('auth'),
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
      file: FileVersion.optional(),
    }),
  ],
  { error: 'give one of status, artifact, message, ask, auth, done, fail, reject' },
);
type PlainEvent = z.output<typeof PlainEvent>;

const PlainEvents = z.object({ events: z.array(PlainEvent).min(1) });
/** The whole answer at once. */
const PlainResult = z
  .object({ ...said, ...told })
  .refine(({ text, data, parts }) => text !== undefined || data !== undefined || parts, {
    error: 'give text, data or parts',
  });

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
  return agentEvent(valid(PlainEvent, value));
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
export function readReply(answer: string): AgentEvent[] {
  const value = parsed(answer);
  const has = (name: string) => typeof value === 'object' && value !== null && name in value;
  if (has('type')) return [readEvent(value)];
  if (has('events')) return valid(PlainEvents, value).events.map(agentEvent);
  const { text, data, parts, ...rest } = valid(PlainResult, value);
  return [
    agentEvent({ type: 'artifact', text, data, parts, metadata: rest.metadata }),
    agentEvent({ type: 'done', ...rest }),
  ];
}

/** Whether the turn ends with the event, as far as the agent is concerned. */
export function endsTurn(event: AgentEvent): boolean {
  if (event.case === 'message') return true;
  return event.case === 'statusUpdate' && event.value.status?.state !== TaskState.WORKING;
}

/** A value of that form. @throws UnreadableAnswer whose cause says what is wrong in one line, for the agent's author */
export function valid<T extends z.ZodType>(schema: T, value: unknown): z.output<T> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const flaws = result.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  throw new UnreadableAnswer(flaws.join('; '));
}

/** @throws UnreadableAnswer */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UnreadableAnswer(error);
  }
}

function agentEvent(event: PlainEvent): AgentEvent {
  const parts = partsOf(event);
  const isPart = event.type === 'artifact' && event.append;
  if ((event.type === 'message' || event.type === 'artifact') && parts.length === 0 && !isPart) {
    throw new UnreadableAnswer(`${event.type}: give text, data or parts`);
  }
  if (event.type === 'message') {
    return { case: 'message', value: { role: Role.AGENT, parts, metadata: event.metadata } };
  }
  if (event.type === 'artifact') {
    const { id: artifactId, name, description, append, last: lastChunk, file } = event;
    const metadata = withData(event.metadata, { file });
    const extensions = file ? [EXTENSION_URIS.files] : [];
    return {
      case: 'artifactUpdate',
      value: { artifact: { artifactId, name, description, parts, metadata, extensions }, append, lastChunk },
    };
  }
  const { progress, usage, effects } = event;
  const metadata = withData(event.metadata, { progress, usage, effects });
  return {
    case: 'statusUpdate',
    value: { status: { state: STATES[event.type], message: messageOf(event, parts) }, metadata },
  };
}

function messageOf(event: PlainEvent, parts: PartInit[]) {
  if ('question' in event && event.question) {
    return questionMessage(event.question, parts.length > 0 ? parts : [textPart(event.question.text)]);
  }
  return parts.length > 0 ? { role: Role.AGENT, parts } : undefined;
}

function withData(metadata: JsonObject | undefined, data: Extended): JsonObject | undefined {
  const all = { ...metadata, ...extended(data) };
  return Object.keys(all).length > 0 ? all : undefined;
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
