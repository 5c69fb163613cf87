import { create, createRegistry, type JsonObject, toBinary, toJson } from '@bufbuild/protobuf';
import { type Any, AnySchema, anyPack, durationFromMs } from '@bufbuild/protobuf/wkt';
import { A2AError, GRPC_STATUS, type GrpcStatusName } from './errors.js';
import {
  BadRequestSchema,
  ErrorInfoSchema,
  file_google_rpc_error_details,
  RetryInfoSchema,
} from './gen/google/rpc/error_details_pb.js';
import { StatusSchema } from './gen/google/rpc/status_pb.js';

/** The `error` member of a JSON-RPC response. */
export interface JsonRpcError {
  readonly code: number;
  readonly message: string;
  /** ErrorInfo first, then BadRequest and RetryInfo where they apply; each with its `@type`. */
  readonly data: JsonObject[];
}

export interface HttpError {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Record<string, string>;
  /** `{error: {code, status, message, details}}`: google.rpc.Status with the HTTP status as code (11.6). */
  readonly body: JsonObject;
}

export interface GrpcError {
  readonly code: number;
  readonly message: string;
  /** Binary google.rpc.Status for the trailer `grpc-status-details-bin` (10.6). */
  readonly details: Uint8Array;
}

export function toJsonRpcError(error: A2AError, traceId?: string): JsonRpcError {
  return {
    code: error.row.jsonrpc,
    message: error.message,
    data: detailsOf(error, traceId).map(toJsonDetail),
  };
}

export function toHttpError(error: A2AError, traceId?: string): HttpError {
  const { http, grpc } = error.row;
  const details = detailsOf(error, traceId).map(toJsonDetail);
  const body = { error: { code: http, status: grpc, message: error.message, details } };
  return { status: http, headers: errorHeaders(error), body };
}

/** Headers of an error on both HTTP bindings: `www-authenticate`, `retry-after` in whole seconds. */
export function errorHeaders(error: A2AError): Record<string, string> {
  const headers: Record<string, string> = {};
  if (error.challenge !== undefined) headers['www-authenticate'] = error.challenge;
  if (error.retryAfter !== undefined) headers['retry-after'] = String(Math.ceil(error.retryAfter));
  return headers;
}

/** `status` replaces the one of the error's row. */
export function toGrpcError(
  error: A2AError,
  traceId?: string,
  status: GrpcStatusName = error.row.grpc,
): GrpcError {
  const code = GRPC_STATUS[status];
  const encoded = create(StatusSchema, { code, message: error.message, details: detailsOf(error, traceId) });
  return { code, message: error.message, details: toBinary(StatusSchema, encoded) };
}

const OUTSIDE_200: ReadonlySet<number> = new Set([401, 403, 413, 429, 503, 504]);

/** HTTP status of a JSON-RPC error: 200, but 401, 403, 413, 429, 503 and 504 as such. */
export function httpStatusOfJsonRpc(error: A2AError): number {
  return OUTSIDE_200.has(error.row.http) ? error.row.http : 200;
}

/** The error itself, or `internal` with the unknown one as its cause. */
export function asA2AError(error: unknown): A2AError {
  return error instanceof A2AError ? error : new A2AError('internal', { cause: error });
}

/** google.rpc details: ErrorInfo always, BadRequest with field violations, RetryInfo with a time to wait. */
function detailsOf(error: A2AError, traceId: string | undefined): Any[] {
  const metadata = traceId === undefined ? error.metadata : { ...error.metadata, traceId };
  const info = create(ErrorInfoSchema, { reason: error.row.reason, domain: error.domain, metadata });
  const details = [anyPack(ErrorInfoSchema, info)];
  if (error.violations.length > 0) {
    const fieldViolations = [...error.violations];
    details.push(anyPack(BadRequestSchema, create(BadRequestSchema, { fieldViolations })));
  }
  if (error.retryAfter !== undefined) {
    const retryDelay = durationFromMs(error.retryAfter * 1000);
    details.push(anyPack(RetryInfoSchema, create(RetryInfoSchema, { retryDelay })));
  }
  return details;
}

const registry = createRegistry(file_google_rpc_error_details);

function toJsonDetail(detail: Any): JsonObject {
  const { '@type': type, ...fields } = toJson(AnySchema, detail, { registry }) as JsonObject;
  return { '@type': type!, ...fields };
}
