import { create, type JsonObject, type JsonValue } from '@bufbuild/protobuf';
import {
  A2AError,
  DeleteTaskPushNotificationConfigRequestSchema,
  decodeMessage,
  type EventStream,
  GetExtendedAgentCardRequestSchema,
  GetTaskPushNotificationConfigRequestSchema,
  isStreaming,
  ListTaskPushNotificationConfigsRequestSchema,
  type OperationName,
  type ReplyOf,
  type RequestOf,
  v03,
} from '../../protocol/index.js';
import type { JsonRpcDialect, JsonRpcMethod } from '../dialect.js';
import type { Fault } from '../faults.js';
import { eventJson } from './event.encoding.js';

type Unary<O extends OperationName> = Exclude<ReplyOf<O>, EventStream>;

/** Ties the types of a method and its operation together, once; the controller handles them all alike. */
function method<O extends OperationName>(
  operation: O,
  read: (params: JsonObject) => RequestOf<O>,
  write: (reply: Unary<O>) => v03.Json | readonly v03.Json[] | null,
): JsonRpcMethod {
  return { operation, read, write: (reply) => v03.jsonText(write(reply as Unary<O>)) };
}

const noReply = () => null;

const METHODS: Readonly<Record<string, JsonRpcMethod>> = {
  'message/send': method('sendMessage', v03.readSendParams, v03.eventJson),
  'message/stream': method('sendStreamingMessage', v03.readSendParams, noReply),
  'tasks/get': method('getTask', v03.readQueryParams, v03.taskJson),
  'tasks/cancel': method('cancelTask', v03.readCancelParams, v03.taskJson),
  'tasks/resubscribe': method('subscribeToTask', v03.readSubscribeParams, noReply),
  'tasks/pushNotificationConfig/set': method(
    'createTaskPushNotificationConfig',
    v03.readPushConfigParams,
    v03.pushConfigJson,
  ),
  'tasks/pushNotificationConfig/get': method(
    'getTaskPushNotificationConfig',
    (params) => decodeMessage(GetTaskPushNotificationConfigRequestSchema, configName(params)),
    v03.pushConfigJson,
  ),
  'tasks/pushNotificationConfig/list': method('listTaskPushNotificationConfigs', readList, ({ configs }) =>
    configs.map(v03.pushConfigJson),
  ),
  'tasks/pushNotificationConfig/delete': method(
    'deleteTaskPushNotificationConfig',
    (params) => decodeMessage(DeleteTaskPushNotificationConfigRequestSchema, configName(params)),
    noReply,
  ),
  'agent/getAuthenticatedExtendedCard': method(
    'getExtendedAgentCard',
    () => create(GetExtendedAgentCardRequestSchema),
    (card) => v03.cardForms(card)!.legacy,
  ),
};

/** 0.3 lets a client ask for "the" config of a task. */
const FIRST_CONFIG = method('listTaskPushNotificationConfigs', readList, ({ configs: [first] }) => {
  if (!first) throw new A2AError('taskNotFound', { message: 'The task has no push config' });
  return v03.pushConfigJson(first);
});

function readList({ id = null }: JsonObject) {
  return decodeMessage(ListTaskPushNotificationConfigsRequestSchema, { taskId: id });
}

const configName = ({ id = null, pushNotificationConfigId = null }: JsonObject): JsonValue => ({
  taskId: id,
  id: pushNotificationConfigId,
});

/** 0.3's methods, each told by a path, and objects that say their `kind`. */
export const v03JsonRpc: JsonRpcDialect = {
  method(name, params) {
    const namesNone = (params.pushNotificationConfigId ?? null) === null;
    if (name === 'tasks/pushNotificationConfig/get' && namesNone) return FIRST_CONFIG;
    return Object.hasOwn(METHODS, name) ? METHODS[name] : undefined;
  },
  event: eventJson,
  /** Clients of 0.3 read a stream whatever comes, so its first event says what went wrong. */
  refusal(fault, operation, encode) {
    const answer = encode(operation === 'getExtendedAgentCard' ? withoutCard(fault) : fault);
    if (answer.status !== 200 || operation === undefined || !isStreaming(operation)) return answer;
    return { ...answer, type: 'text/event-stream', body: `data: ${answer.body}\n\n` };
  },
};

/** 0.3 has one error for a card that is not offered and one that is not there. */
function withoutCard(fault: Fault): Fault {
  if (fault.error.kind !== 'unsupportedOperation') return fault;
  return { ...fault, error: new A2AError('extendedAgentCardNotConfigured') };
}
