import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { invalidField } from '../errors.js';
import {
  type CancelTaskRequest,
  CancelTaskRequestSchema,
  type GetTaskRequest,
  GetTaskRequestSchema,
  type SendMessageRequest,
  SendMessageRequestSchema,
  type SubscribeToTaskRequest,
  SubscribeToTaskRequestSchema,
  type TaskPushNotificationConfig,
  TaskPushNotificationConfigSchema,
} from '../gen/a2a_pb.js';
import { decodeMessage } from '../json.codec.js';
import { isObject, pathOf } from '../json.diagnosis.js';
import { unwrapData } from './data.part.js';

/*
 * The params of 0.3's methods as requests of 1.0: first their JSON as 1.0 has it, then the one reader. Whatever
 * has no form that could be translated is left as it is, for that reader to refuse. All throw `invalidParams`.
 */

export function readSendParams(params: JsonObject): SendMessageRequest {
  return decodeMessage(SendMessageRequestSchema, {
    message: ifObject(params.message, (json) => messageJson(json, 'message')),
    configuration: ifObject(params.configuration, configurationJson),
    metadata: orNull(params.metadata),
  });
}

export function readQueryParams({ id, historyLength }: JsonObject): GetTaskRequest {
  return decodeMessage(GetTaskRequestSchema, { id: orNull(id), historyLength: orNull(historyLength) });
}

export function readCancelParams({ id, metadata }: JsonObject): CancelTaskRequest {
  return decodeMessage(CancelTaskRequestSchema, { id: orNull(id), metadata: orNull(metadata) });
}

export function readSubscribeParams({ id }: JsonObject): SubscribeToTaskRequest {
  return decodeMessage(SubscribeToTaskRequestSchema, { id: orNull(id) });
}

export function readPushConfigParams({
  taskId,
  pushNotificationConfig,
}: JsonObject): TaskPushNotificationConfig {
  const at = 'pushNotificationConfig';
  if (!isObject(orNull(pushNotificationConfig))) throw invalidField(at, 'must be an object');
  const config = pushConfigJson(pushNotificationConfig as JsonObject, at);
  return decodeMessage(TaskPushNotificationConfigSchema, { ...config, taskId: orNull(taskId) });
}

function messageJson(json: JsonObject, at: string): JsonObject {
  const { role, parts, ...rest } = json;
  const list = orNull(parts);
  return {
    ...rest,
    role: role === 'user' ? 'ROLE_USER' : role === 'agent' ? 'ROLE_AGENT' : orNull(role),
    parts: Array.isArray(list)
      ? list.map((part, index) => ifObject(part, (item) => partJson(item, `${at}.parts[${index}]`)))
      : list,
  };
}

function partJson(json: JsonObject, at: string): JsonObject {
  const metadata = orNull(json.metadata);
  switch (json.kind ?? ['text', 'file', 'data'].find((kind) => kind in json)) {
    case 'text':
      if (typeof json.text !== 'string') throw invalidField(pathOf(at, 'text'), 'must be a string');
      return { text: json.text, metadata };
    case 'file':
      return { ...fileJson(orNull(json.file), pathOf(at, 'file')), metadata };
    case 'data': {
      const data = orNull(json.data);
      if (!isObject(data)) throw invalidField(pathOf(at, 'data'), 'must be an object');
      if (!isObject(metadata)) return { data, metadata };
      const unwrapped = unwrapData({ data, metadata });
      return { data: unwrapped.data, metadata: orNull(unwrapped.metadata) };
    }
    default:
      throw invalidField(pathOf(at, 'kind'), 'must be "text", "file" or "data"');
  }
}

function fileJson(file: JsonValue, at: string): JsonObject {
  if (!isObject(file)) throw invalidField(at, 'must be an object');
  const { bytes, uri, name, mimeType } = file;
  const given = [bytes, uri].filter((content) => typeof content === 'string');
  if (given.length !== 1) throw invalidField(at, 'must have either "bytes" or "uri"');
  return {
    raw: orNull(bytes),
    url: orNull(uri),
    filename: orNull(name),
    mediaType: orNull(mimeType),
  };
}

function configurationJson(json: JsonObject): JsonObject {
  const { blocking, pushNotificationConfig, acceptedOutputModes, historyLength, returnImmediately } = json;
  const waits = orNull(blocking);
  if (waits !== null && typeof waits !== 'boolean') {
    throw invalidField('configuration.blocking', 'must be a boolean');
  }
  return {
    acceptedOutputModes: orNull(acceptedOutputModes),
    historyLength: orNull(historyLength),
    returnImmediately: waits === null ? orNull(returnImmediately) : !waits,
    taskPushNotificationConfig: ifObject(pushNotificationConfig, (config) =>
      pushConfigJson(config, 'configuration.pushNotificationConfig'),
    ),
  };
}

/** 1.0 knows one scheme: the first one counts. No scheme at all is no authentication. */
function pushConfigJson({ id, url, token, authentication }: JsonObject, at: string): JsonObject {
  return {
    id: orNull(id),
    url: orNull(url),
    token: orNull(token),
    authentication: ifObject(authentication, ({ schemes, credentials }) => {
      if (!Array.isArray(orNull(schemes))) {
        throw invalidField(`${at}.authentication.schemes`, 'must be a list');
      }
      const [scheme] = schemes as JsonValue[];
      return scheme === undefined ? null : { scheme, credentials: orNull(credentials) };
    }),
  };
}

const orNull = (value: JsonValue | undefined): JsonValue => value ?? null;

function ifObject(value: JsonValue | undefined, translate: (json: JsonObject) => JsonValue): JsonValue {
  const json = orNull(value);
  return isObject(json) ? translate(json) : json;
}
