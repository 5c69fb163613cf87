import type { DescMethod, MessageShape } from '@bufbuild/protobuf';
import type { CallContext } from './call.context.js';
import { A2AService } from './gen/a2a_pb.js';
import type { StreamEvent } from './stream.event.js';

/** The eleven operations by their proto names, lower camel case (`sendMessage`), as the descriptor lists them. */
export const OPERATIONS = A2AService.method;

export type OperationName = keyof typeof A2AService.method;

export const OPERATION_NAMES = Object.keys(OPERATIONS) as OperationName[];

export type RequestOf<O extends OperationName> = MessageShape<(typeof OPERATIONS)[O]['input']>;

/** Batches of frames in log order, each as large as what was ready. Returning the iterator ends the stream. */
export type EventStream = AsyncIterable<readonly StreamEvent[]>;

export type ReplyOf<O extends OperationName> = (typeof OPERATIONS)[O]['methodKind'] extends 'server_streaming'
  ? EventStream
  : MessageShape<(typeof OPERATIONS)[O]['output']>;

/**
 * The eleven operations as methods, typed from the service descriptor. A stream's promise settles once its
 * first frame is known, so that what fails before it is a plain error. Errors: {@link A2AError} only.
 */
export type A2AOperations = {
  [O in OperationName]: (request: RequestOf<O>, call: CallContext) => Promise<ReplyOf<O>>;
};

/** The operation whose JSON-RPC method is `name` (`SendMessage`), or undefined. */
export function operationByMethod(name: string): OperationName | undefined {
  return BY_METHOD.get(name);
}

export function isStreaming(operation: OperationName): boolean {
  return (OPERATIONS[operation] as DescMethod).methodKind === 'server_streaming';
}

const BY_METHOD = new Map(OPERATION_NAMES.map((name) => [OPERATIONS[name].name, name]));
