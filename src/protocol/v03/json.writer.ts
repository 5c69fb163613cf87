import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt';
import {
  type Artifact,
  type Message,
  type Part,
  Role,
  type SendMessageResponse,
  type StreamResponse,
  type Task,
  type TaskPushNotificationConfig,
  type TaskStatus,
} from '../gen/a2a_pb.js';
import { escapeLineSeparators } from '../json.codec.js';
import { wrapData } from './data.part.js';
import { isFinal, STATE_NAMES } from './task.state.js';

/** An object of 0.3's JSON. Members that are undefined are not written. */
export type Json = Readonly<Record<string, unknown>>;

/** One line, safe inside an SSE `data:` field. */
export function jsonText(value: Json | readonly Json[] | null): string {
  return escapeLineSeparators(JSON.stringify(value));
}

/** What a webhook that was registered over 0.3 is sent: the whole task. */
export function taskBody(task: Task): string {
  return jsonText(taskJson(task));
}

export function taskJson({ id, contextId, status, artifacts, history, metadata }: Task): Json {
  return {
    kind: 'task',
    id,
    contextId,
    status: status && statusJson(status),
    artifacts: some(artifacts)?.map(artifactJson),
    history: some(history)?.map(messageJson),
    metadata,
  };
}

export function messageJson(message: Message): Json {
  return {
    kind: 'message',
    messageId: message.messageId,
    contextId: message.contextId || undefined,
    taskId: message.taskId || undefined,
    role: message.role === Role.AGENT ? 'agent' : 'user',
    parts: message.parts.map(partJson),
    metadata: message.metadata,
    extensions: some(message.extensions),
    referenceTaskIds: some(message.referenceTaskIds),
  };
}

/** A frame of a stream, or the answer to a send: the thing itself, told by its `kind`. */
export function eventJson({ payload }: StreamResponse | SendMessageResponse): Json {
  switch (payload.case) {
    case 'task':
      return taskJson(payload.value);
    case 'message':
      return messageJson(payload.value);
    case 'statusUpdate': {
      const { taskId, contextId, status, metadata } = payload.value;
      const final = isFinal(status!.state);
      return { kind: 'status-update', taskId, contextId, status: statusJson(status!), final, metadata };
    }
    case 'artifactUpdate': {
      const { taskId, contextId, artifact, append, lastChunk, metadata } = payload.value;
      const kind = 'artifact-update';
      return { kind, taskId, contextId, artifact: artifactJson(artifact!), append, lastChunk, metadata };
    }
    default:
      throw new Error('The payload is empty');
  }
}

export function pushConfigJson(config: TaskPushNotificationConfig): Json {
  const { taskId, id, url, token, authentication } = config;
  const schemes = authentication && [authentication.scheme];
  return {
    taskId,
    pushNotificationConfig: {
      id: id || undefined,
      url,
      token: token || undefined,
      authentication: schemes && { schemes, credentials: authentication.credentials || undefined },
    },
  };
}

function statusJson({ state, message, timestamp }: TaskStatus): Json {
  return {
    state: STATE_NAMES[state],
    message: message && messageJson(message),
    timestamp: timestamp && timeText(timestamp),
  };
}

function artifactJson({ artifactId, name, description, parts, metadata, extensions }: Artifact): Json {
  return {
    artifactId,
    name: name || undefined,
    description: description || undefined,
    parts: parts.map(partJson),
    metadata,
    extensions: some(extensions),
  };
}

function partJson({ content, metadata, filename, mediaType }: Part): Json {
  const file = { name: filename || undefined, mimeType: mediaType || undefined };
  switch (content.case) {
    case 'text':
      return { kind: 'text', text: content.value, metadata };
    case 'raw':
      return { kind: 'file', file: { ...file, bytes: base64(content.value) }, metadata };
    case 'url':
      return { kind: 'file', file: { ...file, uri: content.value }, metadata };
    case 'data':
      return { kind: 'data', ...wrapData(content.value, metadata) };
    default:
      throw new Error('The part is empty');
  }
}

const base64 = (bytes: Uint8Array) =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');

const timeText = (time: Timestamp) => new Date(timestampMs(time)).toISOString();

const some = <T>(list: readonly T[]): readonly T[] | undefined => (list.length > 0 ? list : undefined);
