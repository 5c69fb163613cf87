import type { DescService, Message } from '@bufbuild/protobuf';
import { A2AService } from './gen/a2a_pb.js';

/** Stands for request bytes that do not decode. The handler answers INVALID_ARGUMENT. */
export class Undecodable {
  constructor(readonly cause: unknown) {}
}

export interface GrpcMethodDefinition {
  readonly path: string;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
  readonly originalName: string;
  readonly requestSerialize: (value: Message | Uint8Array) => Buffer;
  readonly requestDeserialize: (bytes: Uint8Array) => Message | Undecodable;
  readonly responseSerialize: (value: Message | Uint8Array) => Buffer;
  readonly responseDeserialize: (bytes: Uint8Array) => Message | Undecodable;
}

/** A grpc-js service definition over the generated descriptors. Serialisers take a message or its bytes. */
export function grpcServiceDefinition(_service: DescService): Record<string, GrpcMethodDefinition> {
  return {};
}

/** Every file behind the services as a binary FileDescriptorProto, for the reflection service. */
export function fileDescriptorProtos(_services: readonly DescService[] = [A2AService]): Buffer[] {
  return [];
}
