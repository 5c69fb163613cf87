import {
  type DescFile,
  type DescMessage,
  type DescService,
  fromBinary,
  type Message,
  toBinary,
} from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { refuseExcess } from './binary.weight.js';
import { A2AService } from './gen/a2a_pb.js';

/** Stands for bytes that do not decode, or are not to be: thrown in a deserialiser, grpc-js would answer INTERNAL by itself. */
export class Undecodable {
  constructor(readonly cause: unknown) {}
}

/** A method as grpc-js wants it. Serialisers take a message, or its bytes where they are made already. */
export interface GrpcMethodDefinition {
  readonly path: string;
  readonly originalName: string;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
  readonly requestSerialize: (value: Message | Uint8Array) => Buffer;
  readonly requestDeserialize: (bytes: Uint8Array) => Message | Undecodable;
  readonly responseSerialize: (value: Message | Uint8Array) => Buffer;
  readonly responseDeserialize: (bytes: Uint8Array) => Message | Undecodable;
}

export interface GrpcLimits {
  /** How deep JSON values may nest, as on the JSON bindings. */
  readonly maxDepth: number;
  /** How many values a request may have, as on the JSON bindings; any number otherwise. */
  readonly maxValues?: number;
}

/** The definition of a service by its method names (`SendMessage`), for grpc-js or Nest's `packageDefinition`. */
export function grpcServiceDefinition(
  service: DescService,
  limits: GrpcLimits = { maxDepth: 100 },
): Record<string, GrpcMethodDefinition> {
  return Object.fromEntries(
    service.methods.map((method) => [
      method.name,
      {
        path: `/${service.typeName}/${method.name}`,
        originalName: method.localName,
        requestStream: method.methodKind === 'client_streaming' || method.methodKind === 'bidi_streaming',
        responseStream: method.methodKind === 'server_streaming' || method.methodKind === 'bidi_streaming',
        requestSerialize: serialiser(method.input),
        requestDeserialize: deserialiser(method.input, limits),
        responseSerialize: serialiser(method.output),
        responseDeserialize: deserialiser(method.output, limits),
      },
    ]),
  );
}

function serialiser(desc: DescMessage): (value: Message | Uint8Array) => Buffer {
  return (value) => {
    const bytes = value instanceof Uint8Array ? value : toBinary(desc, value);
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  };
}

function deserialiser(
  desc: DescMessage,
  { maxDepth, maxValues }: GrpcLimits,
): (bytes: Uint8Array) => Message | Undecodable {
  // A level of JSON is two messages: the Value and the list or Struct in it.
  const options = { readUnknownFields: false, recursionLimit: 2 * maxDepth };
  return (bytes) => {
    try {
      if (maxValues !== undefined) refuseExcess(desc, bytes, maxValues);
      return fromBinary(desc, bytes, options);
    } catch (error) {
      return new Undecodable(error);
    }
  };
}

/** The files of the services and all that they import, as binary FileDescriptorProtos, for reflection. */
export function fileDescriptorProtos(services: readonly DescService[] = [A2AService]): Buffer[] {
  const files = new Set<DescFile>();
  const add = (file: DescFile): void => {
    if (files.has(file)) return;
    file.dependencies.forEach(add);
    files.add(file);
  };
  for (const service of services) add(service.file);
  return [...files].map((file) => Buffer.from(toBinary(FileDescriptorProtoSchema, file.proto)));
}
