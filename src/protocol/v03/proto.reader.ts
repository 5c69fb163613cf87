import { create } from '@bufbuild/protobuf';
import { invalidField } from '../errors.js';
import {
  type CancelTaskRequest,
  CancelTaskRequestSchema,
  type DeleteTaskPushNotificationConfigRequest,
  DeleteTaskPushNotificationConfigRequestSchema,
  type GetTaskPushNotificationConfigRequest,
  GetTaskPushNotificationConfigRequestSchema,
  type GetTaskRequest,
  GetTaskRequestSchema,
  type ListTaskPushNotificationConfigsRequest,
  ListTaskPushNotificationConfigsRequestSchema,
  type Message,
  MessageSchema,
  type Part,
  PartSchema,
  type SendMessageRequest,
  SendMessageRequestSchema,
  type SubscribeToTaskRequest,
  SubscribeToTaskRequestSchema,
  type TaskPushNotificationConfig,
  TaskPushNotificationConfigSchema,
} from '../gen/a2a_pb.js';
import type * as pb from '../gen/a2a_v03_pb.js';
import { toValue, unwrapData } from './data.part.js';

/* Requests of a2a.v1 as requests of 1.0. All throw `invalidParams` for a resource name that is none. */

/** An absent `blocking` is false, as SDKs mean it: they leave it out of ProtoJSON too. Without configuration 0.3 waits. */
export function readSendRequest(given: pb.SendMessageRequest): SendMessageRequest {
  const { request, configuration, metadata } = given;
  return create(SendMessageRequestSchema, {
    message: request && readMessage(request),
    configuration: configuration && {
      acceptedOutputModes: configuration.acceptedOutputModes,
      historyLength: configuration.historyLength || undefined,
      returnImmediately: !configuration.blocking,
      taskPushNotificationConfig:
        configuration.pushNotification && readPushConfig(configuration.pushNotification),
    },
    metadata,
  });
}

export function readGetRequest({ name, historyLength }: pb.GetTaskRequest): GetTaskRequest {
  const { id } = readTaskName(name, 'name');
  return create(GetTaskRequestSchema, { id, historyLength: historyLength || undefined });
}

export function readCancelRequest({ name }: pb.CancelTaskRequest): CancelTaskRequest {
  return create(CancelTaskRequestSchema, readTaskName(name, 'name'));
}

export function readSubscribeRequest({ name }: pb.TaskSubscriptionRequest): SubscribeToTaskRequest {
  return create(SubscribeToTaskRequestSchema, readTaskName(name, 'name'));
}

/** The config's id stands in three places; the first that has one counts. */
export function readCreateConfigRequest(
  given: pb.CreateTaskPushNotificationConfigRequest,
): TaskPushNotificationConfig {
  const { parent, configId, config } = given;
  const { id: taskId } = readTaskName(parent, 'parent');
  const { pushNotificationConfig } = config ?? {};
  if (!pushNotificationConfig) throw invalidField('config.pushNotificationConfig', 'is required');
  const named = /\/pushNotificationConfigs\/([^/]+)$/.exec(config?.name ?? '')?.[1];
  const read = readPushConfig(pushNotificationConfig);
  return { ...read, taskId, id: read.id || configId || named || '' };
}

export function readGetConfigRequest(
  given: pb.GetTaskPushNotificationConfigRequest,
): GetTaskPushNotificationConfigRequest {
  return create(GetTaskPushNotificationConfigRequestSchema, readConfigName(given.name));
}

export function readListConfigsRequest(
  given: pb.ListTaskPushNotificationConfigRequest,
): ListTaskPushNotificationConfigsRequest {
  const { id: taskId } = readTaskName(given.parent, 'parent');
  const { pageSize, pageToken } = given;
  return create(ListTaskPushNotificationConfigsRequestSchema, { taskId, pageSize, pageToken });
}

export function readDeleteConfigRequest(
  given: pb.DeleteTaskPushNotificationConfigRequest,
): DeleteTaskPushNotificationConfigRequest {
  return create(DeleteTaskPushNotificationConfigRequestSchema, readConfigName(given.name));
}

function readMessage({ $typeName: _, content, role, ...rest }: pb.Message): Message {
  return create(MessageSchema, { ...rest, role: role as number, parts: content.map(readPart) });
}

function readPart({ part, metadata }: pb.Part): Part {
  switch (part.case) {
    case 'text':
      return create(PartSchema, { content: part, metadata });
    case 'file': {
      const { file, mimeType: mediaType, name: filename } = part.value;
      return create(PartSchema, { content: readFile(file), mediaType, filename, metadata });
    }
    case 'data': {
      const unwrapped = unwrapData({ data: part.value.data ?? {}, metadata });
      const content = { case: 'data', value: toValue(unwrapped.data) } as const;
      return create(PartSchema, { content, metadata: unwrapped.metadata });
    }
    default:
      return create(PartSchema, { metadata });
  }
}

function readFile(file: pb.FilePart['file']): Part['content'] {
  switch (file.case) {
    case 'fileWithBytes':
      return { case: 'raw', value: file.value };
    case 'fileWithUri':
      return { case: 'url', value: file.value };
    default:
      return { case: undefined };
  }
}

/** 1.0 knows one scheme: the first one counts. No scheme at all is no authentication. */
function readPushConfig(config: pb.PushNotificationConfig): TaskPushNotificationConfig {
  const { id, url, token, authentication } = config;
  const [scheme] = authentication?.schemes ?? [];
  return create(TaskPushNotificationConfigSchema, {
    id,
    url,
    token,
    authentication: scheme === undefined ? undefined : { scheme, credentials: authentication?.credentials },
  });
}

/** Some clients name the collection of configs, some the task. */
function readTaskName(name: string, field: string): { id: string } {
  const [, id] = /^tasks\/([^/]+)(?:\/pushNotificationConfigs)?$/.exec(name) ?? [];
  if (id === undefined) throw invalidField(field, 'must be tasks/{id}');
  return { id };
}

function readConfigName(name: string): { taskId: string; id: string } {
  const [, taskId, id] = /^tasks\/([^/]+)\/pushNotificationConfigs\/([^/]+)$/.exec(name) ?? [];
  if (taskId === undefined || id === undefined) {
    throw invalidField('name', 'must be tasks/{id}/pushNotificationConfigs/{config}');
  }
  return { taskId, id };
}
