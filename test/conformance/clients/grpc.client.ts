import { createRegistry, fromBinary, type JsonObject, toJson } from '@bufbuild/protobuf';
import { AnySchema } from '@bufbuild/protobuf/wkt';
import {
  type Client,
  type ClientReadableStream,
  type Metadata,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { expect } from 'vitest';
import { file_google_rpc_error_details } from '../../../src/protocol/gen/google/rpc/error_details_pb.js';
import { StatusSchema } from '../../../src/protocol/gen/google/rpc/status_pb.js';
import type { OperationName } from '../../../src/protocol/index.js';
import { grpcClient, metadata, unary } from '../../support/bindings.js';
import { BindingClient, type Headers, OpenStream, Refused, type Reply } from './binding.client.js';
import { fromStub, toStub } from './grpc.values.js';
import { type ErrorDetail, type Refusal, refusalOf } from './refusal.js';

/** Plain grpc-js on stubs that proto-loader makes of the proto file. */
export class GrpcClient extends BindingClient {
  readonly binding = 'gRPC';
  readonly #stub: Client;

  /** Without a tenant the default agent answers. */
  constructor(
    address: string,
    private readonly tenant?: string,
  ) {
    super();
    this.#stub = grpcClient(address);
  }

  override close(): void {
    this.#stub.close();
  }

  protected async unary(operation: OperationName, request: JsonObject, headers: Headers): Promise<Reply> {
    const {
      error,
      reply,
      headers: received,
    } = await unary(this.#stub, rpc(operation), this.#request(request), metadata(headers));
    if (error) return { refusal: refusal(error), headers: {} };
    return { result: fromStub(reply) as JsonObject, headers: plain(received) };
  }

  protected async open(
    operation: OperationName,
    request: JsonObject,
    headers: Headers,
  ): Promise<OpenStream | Reply> {
    const stub = this.#stub as unknown as Record<
      string,
      (request: object, metadata: Metadata) => ClientReadableStream<object>
    >;
    const call = stub[rpc(operation)]!(this.#request(request), metadata(headers));
    let received: Metadata | undefined;
    call.on('metadata', (given) => {
      received = given;
    });
    const frames = framesOf(call);
    try {
      const first = await frames.next();
      return new OpenStream(after(first, frames), plain(received), () => call.cancel());
    } catch (error) {
      if (error instanceof Refused) return { refusal: error.refusal, headers: {} };
      throw error;
    }
  }

  #request(request: JsonObject): object {
    return toStub({ tenant: this.tenant ?? '', ...request }) as object;
  }
}

const rpc = (operation: OperationName) => operation.charAt(0).toUpperCase() + operation.slice(1);

export const plain = (given: Metadata | undefined) =>
  Object.fromEntries(Object.entries(given?.getMap() ?? {}).map(([name, value]) => [name, String(value)]));

/** The end of a stream without an error is the status OK. */
async function* framesOf(call: ClientReadableStream<object>): AsyncGenerator<JsonObject> {
  try {
    for await (const frame of call) yield fromStub(frame) as JsonObject;
  } catch (error) {
    throw new Refused(refusal(error as ServiceError));
  }
}

async function* after(
  first: IteratorResult<JsonObject>,
  rest: AsyncGenerator<JsonObject>,
): AsyncGenerator<JsonObject> {
  if (first.done) return;
  yield first.value;
  yield* rest;
}

const registry = createRegistry(file_google_rpc_error_details);

/** What an error says of itself. Where it has no details: rethrows it. */
export function errorOf(error: ServiceError): { message: string; details: readonly ErrorDetail[] } {
  const [bytes] = error.metadata?.get('grpc-status-details-bin') ?? [];
  if (!(bytes instanceof Buffer)) throw error;
  const { code, message, details } = fromBinary(StatusSchema, bytes);
  expect(code).toBe(error.code);
  expect(message).toBe(error.details);
  const json = details.map((detail) => toJson(AnySchema, detail, { registry }));
  return { message, details: json as unknown as ErrorDetail[] };
}

/** grpc-js counts a message's bytes before anybody is asked, and answers by itself. */
export function tooLarge({ code, details, metadata }: ServiceError): Refusal | undefined {
  const isPlain = code === status.RESOURCE_EXHAUSTED && !metadata?.get('grpc-status-details-bin').length;
  return isPlain
    ? { reason: 'PAYLOAD_TOO_LARGE', domain: '', message: details, metadata: {}, fields: [] }
    : undefined;
}

function refusal(error: ServiceError): Refusal {
  const plain = tooLarge(error);
  if (plain) return plain;
  const { message, details } = errorOf(error);
  return refusalOf(message, details, { grpc: error.code });
}
