import type { JsonObject } from '@bufbuild/protobuf';
import { A2AError } from './errors.js';

export interface JsonRpcError {
  readonly code: number;
  readonly message: string;
  readonly data: JsonObject[];
}

export interface HttpError {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Record<string, string>;
  /** `{error: {code, status, message, details}}`. */
  readonly body: JsonObject;
}

export interface GrpcError {
  readonly code: number;
  readonly message: string;
  /** Binary google.rpc.Status for the trailer `grpc-status-details-bin`. */
  readonly details: Uint8Array;
}

/** The `error` member of a JSON-RPC response. */
export function toJsonRpcError(error: A2AError, _traceId?: string): JsonRpcError {
  return { code: error.row.jsonrpc, message: error.message, data: [] };
}

/** Status, headers and body of an HTTP+JSON error. */
export function toHttpError(error: A2AError, _traceId?: string): HttpError {
  return { status: error.row.http, headers: errorHeaders(error), body: {} };
}

/** Headers of an error on both HTTP bindings: `www-authenticate`, `retry-after`. */
export function errorHeaders(_error: A2AError): Record<string, string> {
  return {};
}

/** Status, message and details of a gRPC error. */
export function toGrpcError(error: A2AError, _traceId?: string): GrpcError {
  return { code: 2, message: error.message, details: new Uint8Array() };
}

/** HTTP status of a JSON-RPC error: 200, but 401, 403, 413, 429, 503 and 504 as such. */
export function httpStatusOfJsonRpc(error: A2AError): number {
  return error.row.http;
}

/** The error itself, or `internal` with the unknown one as its cause. */
export function asA2AError(error: unknown): A2AError {
  return error instanceof A2AError ? error : new A2AError('internal', { cause: error });
}
