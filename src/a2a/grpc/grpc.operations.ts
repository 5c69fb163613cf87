import type { Message } from '@bufbuild/protobuf';
import { A2AService, OPERATION_NAMES, OPERATIONS, type StreamEvent } from '../../protocol/index.js';
import type { GrpcOperation } from '../dialect.js';
import { v03GrpcOperations } from '../v03/index.js';

const asItIs = (message: Message) => message;
const bytesOf = ({ binary }: StreamEvent) => binary;

/** Every rpc, of every version. Those of 1.0 need no translation. */
export const GRPC_OPERATIONS: readonly GrpcOperation[] = [
  ...OPERATION_NAMES.map(
    (operation): GrpcOperation => ({
      operation,
      version: '1.0',
      service: A2AService.typeName,
      rpc: OPERATIONS[operation].name,
      statuses: {},
      tenant: (request) => (request as Message & { readonly tenant: string }).tenant,
      read: asItIs,
      write: asItIs,
      events: () => bytesOf,
    }),
  ),
  ...v03GrpcOperations,
];
