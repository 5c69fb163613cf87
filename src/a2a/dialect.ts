import type { JsonObject, Message } from '@bufbuild/protobuf';
import type {
  ErrorKind,
  GrpcStatusName,
  HttpInput,
  HttpMethod,
  OperationName,
  ProtocolVersion,
  StreamEvent,
} from '../protocol/index.js';
import type { Caller } from './caller.js';
import type { Fault } from './faults.js';
import type { HttpAnswer } from './http.caller.js';

/*
 * What a version of A2A says its own way on each binding. All else is the same for all: the bindings' controllers
 * go one way for every version. Readers throw A2AError `invalidParams`.
 */

export interface JsonRpcMethod {
  readonly operation: OperationName;
  read(params: JsonObject): Message;
  /** The result as JSON text. */
  write(reply: Message, request: Message): string;
}

export interface JsonRpcDialect {
  /** The method of that name, or undefined. */
  method(name: string, params: JsonObject): JsonRpcMethod | undefined;
  /** The result that an event of a stream is, as JSON text on one line. */
  event(event: StreamEvent): string;
  /** The answer to a call that failed before it had one. `encode` gives the usual answer. */
  refusal(
    fault: Fault,
    operation: OperationName | undefined,
    encode: (fault: Fault) => HttpAnswer,
  ): HttpAnswer;
}

export interface RestOperation {
  readonly operation: OperationName;
  readonly version: ProtocolVersion;
  readonly method: HttpMethod;
  /** As in the proto: `/tasks/{id=*}:cancel`. */
  readonly template: string;
  /** As Fastify wants it. */
  readonly path: string;
  /** Media type of the answer. */
  readonly type: string;
  /** Shows the public card to all where the agent has no extended one. */
  readonly orPublicCard?: boolean;
  read(input: HttpInput, caller: Caller): Message;
  /** The body as JSON text. */
  write(reply: Message, request: Message, caller: Caller): string;
  /** Makes the data of a stream's events, JSON text on one line. The caller's headers are read here and not later. */
  events(caller: Caller): (event: StreamEvent) => string;
  error(fault: Fault): HttpAnswer;
}

export interface GrpcOperation {
  readonly operation: OperationName;
  readonly version: ProtocolVersion;
  /** Full name of the service, and name of the rpc. */
  readonly service: string;
  readonly rpc: string;
  /** Shows the public card to all where the agent has no extended one. */
  readonly orPublicCard?: boolean;
  /** Statuses that differ from those of the error table. */
  readonly statuses: Partial<Record<ErrorKind, GrpcStatusName>>;
  /** The agent that is meant; empty for the default one. */
  tenant(request: Message, caller: Caller): string;
  read(request: Message, caller: Caller): Message;
  write(reply: Message, caller: Caller): Message;
  events(caller: Caller): (event: StreamEvent) => Uint8Array;
}
