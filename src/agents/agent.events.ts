import { fromJson, type JsonObject, type JsonValue, type MessageInitShape } from '@bufbuild/protobuf';
import { ValueSchema } from '@bufbuild/protobuf/wkt';
import { type ArtifactSchema, type Part, type PartSchema, Role, TaskState } from '../protocol/index.js';
import type { AgentEvent } from './agent.executor.js';

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
export const inputRequired = (text?: string) => status(TaskState.INPUT_REQUIRED, text);
export const authRequired = (text?: string) => status(TaskState.AUTH_REQUIRED, text);

/** The text parts as one text, a line break between them; '' where there is none. */
export function textOf(parts: readonly Part[]): string {
  return parts.flatMap(({ content }) => (content.case === 'text' ? [content.value] : [])).join('\n');
}
