import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import type { Client, Metadata, ServiceError } from '@grpc/grpc-js';
import type { OperationName } from '../../../src/protocol/index.js';
import { metadata, unary } from '../../support/bindings.js';
import { oldGrpcClient } from '../../support/old.bindings.js';
import { errorOf, plain, tooLarge } from '../clients/grpc.client.js';
import { fromStub, toStub } from '../clients/grpc.values.js';
import {
  BindingClient,
  type Headers,
  OpenStream,
  type Refusal,
  Refused,
  type Reply,
} from '../clients/index.js';
import { oldRefusal } from './old.refusal.js';
import {
  configTo,
  frameFrom,
  inModern,
  inOld,
  type Json,
  NoWord,
  only,
  protoForm,
  sendTo,
  taskFrom,
} from './words.js';

const RPCS: Partial<Record<OperationName, string>> = {
  sendMessage: 'SendMessage',
  sendStreamingMessage: 'SendStreamingMessage',
  getTask: 'GetTask',
  cancelTask: 'CancelTask',
  subscribeToTask: 'TaskSubscription',
  createTaskPushNotificationConfig: 'CreateTaskPushNotificationConfig',
  getTaskPushNotificationConfig: 'GetTaskPushNotificationConfig',
  listTaskPushNotificationConfigs: 'ListTaskPushNotificationConfig',
  deleteTaskPushNotificationConfig: 'DeleteTaskPushNotificationConfig',
  getExtendedAgentCard: 'GetAgentCard',
};

/** Plain grpc-js on stubs that proto-loader makes of 0.3's proto file, asked in the words of 1.0. */
export class OldGrpcClient extends BindingClient {
  readonly binding = 'gRPC';
  override readonly version = '0.3';
  readonly #stub: Client;

  constructor(
    address: string,
    private readonly agent: string,
  ) {
    super();
    this.#stub = oldGrpcClient(address);
  }

  override close(): void {
    this.#stub.close();
  }

  protected async unary(operation: OperationName, request: JsonObject, given: Headers): Promise<Reply> {
    const { rpc, message } = ask(operation, request);
    const { error, reply, headers } = await unary(this.#stub, rpc, message, this.#metadata(given));
    if (error) return { refusal: refusal(error), headers: {} };
    return { result: resultOf(operation, read(reply!)), headers: inModern(plain(headers)) };
  }

  protected async open(operation: OperationName, request: JsonObject, given: Headers) {
    const { rpc, message } = ask(operation, request);
    const call = (this.#stub as unknown as Record<string, StreamingRpc>)[rpc]!(
      message,
      this.#metadata(given),
    );
    let received: Metadata | undefined;
    call.on('metadata', (metadata) => {
      received = metadata;
    });
    const frames = framesOf(call);
    try {
      const first = await frames.next();
      return new OpenStream(after(first, frames), inModern(plain(received)), () => call.cancel());
    } catch (error) {
      if (error instanceof Refused) return { refusal: error.refusal, headers: {} };
      throw error;
    }
  }

  #metadata(headers: Headers) {
    return metadata({ ...inOld(headers), ...(this.agent && { 'a2a-tenant': this.agent }) });
  }
}

type StreamingRpc = (
  request: object,
  metadata: Metadata,
) => AsyncIterable<object> & {
  cancel(): void;
  on(event: 'metadata', listener: (metadata: Metadata) => void): void;
};

function ask(operation: OperationName, request: JsonObject): { rpc: string; message: object } {
  const rpc = RPCS[operation];
  if (!rpc) throw new NoWord(`0.3 has no ${operation} over gRPC`);
  return { rpc, message: messageOf(operation, request as Json) };
}

function messageOf(operation: OperationName, request: Json): object {
  if (operation.startsWith('send')) {
    const { message, ...rest } = sendTo(protoForm, request) as { message?: JsonValue };
    return asStub({ request: message, ...rest });
  }
  const { taskId, id, ...rest } = request;
  if (operation.startsWith('create')) {
    return { parent: `tasks/${taskId}`, config: { pushNotificationConfig: configTo({ id, ...rest }) } };
  }
  if (operation === 'listTaskPushNotificationConfigs') return { parent: `tasks/${taskId}` };
  if (operation === 'getExtendedAgentCard') return {};
  if (taskId !== undefined && operation.includes('Config'))
    return { name: `tasks/${taskId}/pushNotificationConfigs/${id}` };
  only(rest, ...(operation === 'getTask' ? ['historyLength'] : []));
  return { name: `tasks/${id}`, ...rest };
}

function resultOf(operation: OperationName, reply: Json): Json {
  if (operation === 'sendMessage') return frameFrom(protoForm, reply);
  return operation === 'getTask' || operation === 'cancelTask'
    ? taskFrom(protoForm, reply)
    : { result: reply };
}

/** Data is a Struct within a message of its own, and files are bytes by another name. */
function asStub(json: unknown, name = ''): object {
  if (name === 'metadata' || name === 'struct') return toStub(json as JsonValue, 'metadata') as object;
  if (name === 'fileWithBytes') return Buffer.from(json as string, 'base64');
  if (Array.isArray(json)) return json.map((item) => asStub(item));
  if (typeof json !== 'object' || json === null) return json as never;
  const entries = Object.entries(json).map(([key, value]) => [
    key,
    key === 'data' ? { data: asStub((value as Json).data, 'struct') } : asStub(value, key),
  ]);
  return Object.fromEntries(entries);
}

/** From a stub's object to ProtoJSON: `update`, `msg` and `request` are called `message` in JSON. */
function read(value: unknown, name = ''): Json {
  if (name === 'metadata' || name === 'struct') return fromStub(value, 'metadata') as Json;
  if (name === 'timestamp' || value instanceof Buffer) return fromStub(value, name) as never;
  if (Array.isArray(value)) return value.map((item) => read(item)) as never;
  if (typeof value !== 'object' || value === null) return value as never;
  const members = Object.entries(value).filter(
    ([key, member]) => !(['payload', 'part', 'file'].includes(key) && typeof member === 'string'),
  );
  const entries = members.map(([key, member]) => {
    const called = key === 'update' || key === 'msg' ? 'message' : key;
    return [
      called,
      key === 'data' ? { data: read((member as { data: unknown }).data, 'struct') } : read(member, key),
    ];
  });
  return Object.fromEntries(entries);
}

async function* framesOf(call: AsyncIterable<object>): AsyncGenerator<JsonObject> {
  try {
    for await (const frame of call) yield frameFrom(protoForm, read(frame));
  } catch (error) {
    if (typeof (error as ServiceError).code !== 'number') throw error;
    throw new Refused(refusal(error as ServiceError));
  }
}

async function* after(first: IteratorResult<JsonObject>, rest: AsyncGenerator<JsonObject>) {
  if (first.done) return;
  yield first.value;
  yield* rest;
}

function refusal(error: ServiceError): Refusal {
  const alone = tooLarge(error);
  if (alone) return alone;
  const { message, details } = errorOf(error);
  return oldRefusal(message, details, { grpc: error.code });
}
