import type { Message } from '@bufbuild/protobuf';
import { Metadata, type ServerUnaryCall, type ServerWritableStream } from '@grpc/grpc-js';
import { Controller } from '@nestjs/common';
import { GrpcMethod, RpcException } from '@nestjs/microservices';
import { EMPTY, type Observable } from 'rxjs';
import { A2AError, Undecodable } from '../../protocol/index.js';
import type { Call, Destination } from '../call.js';
import type { GrpcOperation } from '../dialect.js';
import { Dispatcher, isStream } from '../dispatcher.js';
import { Faults } from '../faults.js';
import { OpenStreams } from '../streaming/index.js';
import { GrpcCaller } from './grpc.caller.js';
import { GRPC_OPERATIONS } from './grpc.operations.js';
import { GrpcSink } from './grpc.sink.js';
import { statusOf } from './grpc.status.js';

type Request = Message | Undecodable;
type GrpcCall = ServerUnaryCall<Request, Message> | ServerWritableStream<Request, Uint8Array>;

/** The gRPC binding (specification 10). The handler of each rpc is made below. */
@Controller()
export class GrpcController {
  constructor(
    private readonly dispatcher: Dispatcher,
    private readonly streams: OpenStreams,
    private readonly faults: Faults,
  ) {}

  /** A stream is written to its call here, with the reader's pace; Nest then only ends it. */
  async answer(rpc: GrpcOperation, request: Request, grpc: GrpcCall): Promise<Message | Observable<never>> {
    const caller = new GrpcCaller(grpc);
    const { operation, version } = rpc;
    const undecodable = request instanceof Undecodable;
    const tenant = undecodable ? '' : rpc.tenant(request, caller);
    let call: Call | undefined;
    try {
      const agent = undefined;
      const destination: Destination = { binding: 'GRPC', versions: [version], agent, tenant, caller };
      const card = rpc.orPublicCard && this.dispatcher.publicCard(destination);
      if (card) return rpc.write(card, caller);
      call = await this.dispatcher.admit({ ...destination, operation });
      if (undecodable) throw refusalOf(request);
      const result = await this.dispatcher.perform(call, rpc.read(request, caller));
      grpc.sendMetadata(metadataOf(call));
      if (!isStream(result)) return rpc.write(result, caller);
      const stream = grpc as ServerWritableStream<Request, Uint8Array>;
      const sink = new GrpcSink(stream, call, rpc.events(caller));
      this.streams.deliver(call, result, sink);
      // Not awaited here, where all of the request would be kept until the stream ends.
      return sink.ended.then(() => EMPTY);
    } catch (thrown) {
      const fault = this.faults.report(thrown, call ?? { caller, operation, binding: 'GRPC' });
      throw new RpcException(statusOf(fault, rpc.statuses[fault.error.kind]));
    }
  }
}

const refusalOf = ({ cause }: Undecodable) =>
  cause instanceof A2AError
    ? cause
    : new A2AError('invalidParams', { message: 'The request does not decode' });

function metadataOf({ reply }: Call): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of reply) metadata.set(name, value);
  return metadata;
}

/** Gives the controller a method for an rpc, decorated as if it stood in the class. */
function declare(operation: GrpcOperation, name: string): void {
  const { service, rpc } = operation;
  const handler = function (this: GrpcController, request: Request, _metadata: Metadata, call: GrpcCall) {
    return this.answer(operation, request, call);
  };
  const { prototype } = GrpcController;
  Object.defineProperty(prototype, name, { value: handler, configurable: true });
  GrpcMethod(service, rpc)(prototype, name, { value: handler });
}

for (const operation of GRPC_OPERATIONS) declare(operation, `${operation.service}.${operation.rpc}`);
