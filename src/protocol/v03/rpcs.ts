import { create, type DescMethod, type Message, type MessageShape } from '@bufbuild/protobuf';
import { type AgentCard, GetExtendedAgentCardRequestSchema, type StreamResponse } from '../gen/a2a_pb.js';
import * as pb from '../gen/a2a_v03_pb.js';
import type { EventStream, OperationName, ReplyOf, RequestOf } from '../operations.js';
import { cardForms, cardProto } from './agent.card.js';
import * as reader from './proto.reader.js';
import * as writer from './proto.writer.js';

/** One rpc of a2a.v1, in the words of 1.0. */
export interface Rpc {
  readonly method: DescMethod;
  readonly operation: OperationName;
  /** A request as 1.0 has it. @throws A2AError `invalidParams` */
  readonly read: (request: Message) => Message;
  /** What the operation answered, or one StreamResponse of its stream, as a2a.v1 has it. */
  readonly write: (reply: Message) => Message;
}

type Written<O extends OperationName> = ReplyOf<O> extends EventStream ? StreamResponse : ReplyOf<O>;

/** Ties the types of an rpc and its operation together, once; the bindings handle them all alike. */
function rpc<M extends DescMethod, O extends OperationName>(
  [method, operation]: readonly [M, O],
  read: (request: MessageShape<M['input']>) => RequestOf<O>,
  write: (reply: Written<O>) => MessageShape<M['output']>,
): Rpc {
  return { method, operation, read: read as unknown as Rpc['read'], write: write as unknown as Rpc['write'] };
}

const { method } = pb.A2AService;

export const RPCS: readonly Rpc[] = [
  rpc([method.sendMessage, 'sendMessage'], reader.readSendRequest, writer.replyProto),
  rpc([method.sendStreamingMessage, 'sendStreamingMessage'], reader.readSendRequest, writer.eventProto),
  rpc([method.getTask, 'getTask'], reader.readGetRequest, writer.taskProto),
  rpc([method.cancelTask, 'cancelTask'], reader.readCancelRequest, writer.taskProto),
  rpc([method.taskSubscription, 'subscribeToTask'], reader.readSubscribeRequest, writer.eventProto),
  rpc(
    [method.createTaskPushNotificationConfig, 'createTaskPushNotificationConfig'],
    reader.readCreateConfigRequest,
    writer.pushConfigProto,
  ),
  rpc(
    [method.getTaskPushNotificationConfig, 'getTaskPushNotificationConfig'],
    reader.readGetConfigRequest,
    writer.pushConfigProto,
  ),
  rpc(
    [method.listTaskPushNotificationConfig, 'listTaskPushNotificationConfigs'],
    reader.readListConfigsRequest,
    writer.pushConfigsProto,
  ),
  rpc([method.getAgentCard, 'getExtendedAgentCard'], readCardRequest, writeCard),
  rpc(
    [method.deleteTaskPushNotificationConfig, 'deleteTaskPushNotificationConfig'],
    reader.readDeleteConfigRequest,
    (empty) => empty,
  ),
];

function readCardRequest() {
  return create(GetExtendedAgentCardRequestSchema);
}

/** Only agents that are served in 0.3 are asked for their card in 0.3. */
function writeCard(card: AgentCard): pb.AgentCard {
  return cardProto(cardForms(card)!.legacy);
}
