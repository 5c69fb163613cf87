import type { Message } from '@bufbuild/protobuf';
import { Metadata, type ServerUnaryCall, type ServerWritableStream } from '@grpc/grpc-js';
import { Controller } from '@nestjs/common';
import { GrpcMethod, RpcException } from '@nestjs/microservices';
import { EMPTY, type Observable } from 'rxjs';
import {
  A2AError,
  A2AService,
  OPERATION_NAMES,
  OPERATIONS,
  type OperationName,
  Undecodable,
} from '../../protocol/index.js';
import type { Call } from '../call.js';
import { Dispatcher, isStream } from '../dispatcher.js';
import { Faults } from '../faults.js';
import { OpenStreams } from '../streaming/index.js';
import { GrpcCaller } from './grpc.caller.js';
import { GrpcSink } from './grpc.sink.js';
import { statusOf } from './grpc.status.js';

type Request = (Message & { readonly tenant: string }) | Undecodable;
type GrpcCall = ServerUnaryCall<Request, Message> | ServerWritableStream<Request, Uint8Array>;

/** The gRPC binding (specification 10). The handler of each rpc of the service is made below. */
@Controller()
export class GrpcController {
  constructor(
    private readonly dispatcher: Dispatcher,
    private readonly streams: OpenStreams,
    private readonly faults: Faults,
  ) {}

  /** A stream is written to its call here, with the reader's pace; Nest then only ends it. */
  async answer(
    operation: OperationName,
    request: Request,
    grpc: GrpcCall,
  ): Promise<Message | Observable<never>> {
    const caller = new GrpcCaller(grpc);
    const undecodable = request instanceof Undecodable;
    const tenant = undecodable ? '' : request.tenant;
    let call: Call | undefined;
    try {
      call = await this.dispatcher.admit({ operation, binding: 'GRPC', agent: undefined, tenant, caller });
      if (undecodable) throw new A2AError('invalidParams', { message: 'The request does not decode' });
      const result = await this.dispatcher.perform(call, request);
      grpc.sendMetadata(metadataOf(call));
      if (!isStream(result)) return result;
      await this.streams.deliver(
        call,
        result,
        new GrpcSink(grpc as ServerWritableStream<Request, Uint8Array>, call.signal),
      );
      return EMPTY;
    } catch (thrown) {
      throw new RpcException(
        statusOf(this.faults.report(thrown, call ?? { caller, operation, binding: 'GRPC' })),
      );
    }
  }
}

function metadataOf({ reply }: Call): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of reply) metadata.set(name, value);
  return metadata;
}

/** Gives the controller a method for an rpc, decorated as if it stood in the class. */
function declare(operation: OperationName): void {
  const handler = function (this: GrpcController, request: Request, _metadata: Metadata, call: GrpcCall) {
    return this.answer(operation, request, call);
  };
  const { prototype } = GrpcController;
  Object.defineProperty(prototype, operation, { value: handler, configurable: true });
  GrpcMethod(A2AService.typeName, OPERATIONS[operation].name)(prototype, operation, { value: handler });
}

for (const operation of OPERATION_NAMES) declare(operation);
