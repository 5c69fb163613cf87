import { create } from '@bufbuild/protobuf';
import type {
  Artifact,
  ListTaskPushNotificationConfigsResponse,
  Message,
  Part,
  SendMessageResponse,
  StreamResponse,
  Task,
  TaskPushNotificationConfig,
  TaskStatus,
} from '../gen/a2a_pb.js';
import * as pb from '../gen/a2a_v03_pb.js';
import { wrapData } from './data.part.js';
import { isFinal } from './task.state.js';

/*
 * Messages of 1.0 as messages of a2a.v1. Written out as literals: `create` would cost as much as the encoding.
 * States and roles have the same numbers in both.
 */

export function taskProto({ id, contextId, status, artifacts, history, metadata }: Task): pb.Task {
  return {
    $typeName: 'a2a.v1.Task',
    id,
    contextId,
    status: status && statusProto(status),
    artifacts: artifacts.map(artifactProto),
    history: history.map(messageProto),
    metadata,
  };
}

export function messageProto(message: Message): pb.Message {
  return {
    $typeName: 'a2a.v1.Message',
    messageId: message.messageId,
    contextId: message.contextId,
    taskId: message.taskId,
    role: message.role as number,
    content: message.parts.map(partProto),
    metadata: message.metadata,
    extensions: message.extensions,
    referenceTaskIds: message.referenceTaskIds,
  };
}

export function replyProto({ payload }: SendMessageResponse): pb.SendMessageResponse {
  const $typeName = 'a2a.v1.SendMessageResponse';
  if (payload.case === 'task')
    return { $typeName, payload: { case: 'task', value: taskProto(payload.value) } };
  if (payload.case === 'message') {
    return { $typeName, payload: { case: 'msg', value: messageProto(payload.value) } };
  }
  throw new Error('The payload is empty');
}

export function eventProto({ payload }: StreamResponse): pb.StreamResponse {
  return { $typeName: 'a2a.v1.StreamResponse', payload: payloadProto(payload) };
}

function payloadProto(payload: StreamResponse['payload']): pb.StreamResponse['payload'] {
  switch (payload.case) {
    case 'task':
      return { case: 'task', value: taskProto(payload.value) };
    case 'message':
      return { case: 'msg', value: messageProto(payload.value) };
    case 'statusUpdate': {
      const { taskId, contextId, status, metadata } = payload.value;
      const $typeName = 'a2a.v1.TaskStatusUpdateEvent';
      const final = isFinal(status!.state);
      const value = { $typeName, taskId, contextId, status: statusProto(status!), final, metadata } as const;
      return { case: 'statusUpdate', value };
    }
    case 'artifactUpdate': {
      const { $typeName: _, artifact, ...rest } = payload.value;
      const $typeName = 'a2a.v1.TaskArtifactUpdateEvent';
      return { case: 'artifactUpdate', value: { ...rest, $typeName, artifact: artifactProto(artifact!) } };
    }
    default:
      throw new Error('The payload is empty');
  }
}

export function pushConfigProto(config: TaskPushNotificationConfig): pb.TaskPushNotificationConfig {
  const { taskId, id, url, token, authentication } = config;
  return create(pb.TaskPushNotificationConfigSchema, {
    name: `tasks/${taskId}/pushNotificationConfigs/${id}`,
    pushNotificationConfig: {
      id,
      url,
      token,
      authentication: authentication && {
        schemes: [authentication.scheme],
        credentials: authentication.credentials,
      },
    },
  });
}

export function pushConfigsProto(
  list: ListTaskPushNotificationConfigsResponse,
): pb.ListTaskPushNotificationConfigResponse {
  return create(pb.ListTaskPushNotificationConfigResponseSchema, {
    configs: list.configs.map(pushConfigProto),
    nextPageToken: list.nextPageToken,
  });
}

function statusProto({ state, message, timestamp }: TaskStatus): pb.TaskStatus {
  const update = message && messageProto(message);
  return { $typeName: 'a2a.v1.TaskStatus', state: state as number, update, timestamp };
}

function artifactProto(artifact: Artifact): pb.Artifact {
  return { ...artifact, $typeName: 'a2a.v1.Artifact', parts: artifact.parts.map(partProto) };
}

function partProto({ content, metadata, filename, mediaType }: Part): pb.Part {
  const $typeName = 'a2a.v1.Part';
  switch (content.case) {
    case 'text':
      return { $typeName, part: { case: 'text', value: content.value }, metadata };
    case 'raw':
    case 'url': {
      const file: pb.FilePart['file'] =
        content.case === 'raw'
          ? { case: 'fileWithBytes', value: content.value }
          : { case: 'fileWithUri', value: content.value };
      const value = { $typeName: 'a2a.v1.FilePart', file, mimeType: mediaType, name: filename } as const;
      return { $typeName, part: { case: 'file', value }, metadata };
    }
    case 'data': {
      const { data, metadata: marked } = wrapData(content.value, metadata);
      const value = { $typeName: 'a2a.v1.DataPart', data } as const;
      return { $typeName, part: { case: 'data', value }, metadata: marked };
    }
    default:
      throw new Error('The part is empty');
  }
}
