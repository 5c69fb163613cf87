import { fromJson, type JsonObject, type JsonValue, type MessageInitShape } from '@bufbuild/protobuf';
import { ValueSchema } from '@bufbuild/protobuf/wkt';
import {
  type ArtifactSchema,
  EXTENSION_URIS,
  type MessageSchema,
  type Part,
  type PartSchema,
  Role,
  TaskState,
} from '../protocol/index.js';
import type { AgentEvent } from './agent.executor.js';
import { extended, type Question } from './extensions/index.js';

export type PartInit = MessageInitShape<typeof PartSchema>;
export type ArtifactInit = MessageInitShape<typeof ArtifactSchema>;

export function textPart(text: string, mediaType = ''): PartInit {
  return { content: { case: 'text', value: text }, mediaType };
}

export function dataPart(data: JsonValue, mediaType = 'application/json'): PartInit {
  return { content: { case: 'data', value: fromJson(ValueSchema, data) }, mediaType };
}

/** The task enters a state; `text` becomes the status message. */
export function status(state: TaskState, text?: string, metadata?: JsonObject): AgentEvent {
  const message = text === undefined ? undefined : { role: Role.AGENT, parts: [textPart(text)] };
  return { case: 'statusUpdate', value: { status: { state, message }, metadata } };
}

export interface ArtifactOptions {
  /** Adds the parts to the artifact of that id instead of replacing it. */
  readonly append?: boolean;
  readonly lastChunk?: boolean;
}

/** An artifact as a whole, or a chunk of one. Without an id it is the task's answer (`<taskId>-response`). */
export function artifact(artifact: ArtifactInit, options: ArtifactOptions = {}): AgentEvent {
  return { case: 'artifactUpdate', value: { artifact, ...options } };
}

/** A direct answer, without a task when it is the turn's first event. */
export function message(text: string): AgentEvent {
  return { case: 'message', value: { role: Role.AGENT, parts: [textPart(text)] } };
}

export const working = (text?: string) => status(TaskState.WORKING, text);
export const completed = (text?: string) => status(TaskState.COMPLETED, text);
export const failed = (text?: string) => status(TaskState.FAILED, text);
export const rejected = (text?: string) => status(TaskState.REJECTED, text);
/** With a question of approvals/v1, clients that know it get it as data, all others its text. */
export const inputRequired = (asked?: string | Question) => asking(TaskState.INPUT_REQUIRED, asked);
export const authRequired = (asked?: string | Question) => asking(TaskState.AUTH_REQUIRED, asked);

function asking(state: TaskState, asked?: string | Question): AgentEvent {
  if (typeof asked !== 'object') return status(state, asked);
  const message = questionMessage(asked, [textPart(asked.text)]);
  return { case: 'statusUpdate', value: { status: { state, message } } };
}

/** A status message that asks a question of approvals/v1, said as `parts` for people. */
export function questionMessage(
  question: Question,
  parts: PartInit[],
): MessageInitShape<typeof MessageSchema> {
  const metadata = extended({ question });
  return { role: Role.AGENT, parts, metadata, extensions: [EXTENSION_URIS.approvals] };
}

/** The text parts as one text, a line break between them; '' where there is none. */
export function textOf(parts: readonly Part[]): string {
  return parts.flatMap(({ content }) => (content.case === 'text' ? [content.value] : [])).join('\n');
}
