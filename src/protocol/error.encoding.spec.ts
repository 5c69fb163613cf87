import { fromBinary } from '@bufbuild/protobuf';
import { anyUnpack } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from './gen/google/rpc/error_details_pb.js';
import { StatusSchema } from './gen/google/rpc/status_pb.js';
import {
  A2AError,
  asA2AError,
  ERRORS,
  type ErrorKind,
  GRPC_STATUS,
  httpStatusOfJsonRpc,
  invalidField,
  toGrpcError,
  toHttpError,
  toJsonRpcError,
} from './index.js';

/** Specification 5.4 as printed, then the rows that are Parley's own. */
const TABLE: [ErrorKind, number, keyof typeof GRPC_STATUS, number, string, string][] = [
  ['taskNotFound', -32001, 'NOT_FOUND', 404, 'TASK_NOT_FOUND', 'a2a-protocol.org'],
  ['taskNotCancelable', -32002, 'FAILED_PRECONDITION', 400, 'TASK_NOT_CANCELABLE', 'a2a-protocol.org'],
  [
    'pushNotificationNotSupported',
    -32003,
    'FAILED_PRECONDITION',
    400,
    'PUSH_NOTIFICATION_NOT_SUPPORTED',
    'a2a-protocol.org',
  ],
  ['unsupportedOperation', -32004, 'FAILED_PRECONDITION', 400, 'UNSUPPORTED_OPERATION', 'a2a-protocol.org'],
  [
    'contentTypeNotSupported',
    -32005,
    'INVALID_ARGUMENT',
    400,
    'CONTENT_TYPE_NOT_SUPPORTED',
    'a2a-protocol.org',
  ],
  ['invalidAgentResponse', -32006, 'INTERNAL', 500, 'INVALID_AGENT_RESPONSE', 'a2a-protocol.org'],
  [
    'extendedAgentCardNotConfigured',
    -32007,
    'FAILED_PRECONDITION',
    400,
    'EXTENDED_AGENT_CARD_NOT_CONFIGURED',
    'a2a-protocol.org',
  ],
  [
    'extensionSupportRequired',
    -32008,
    'FAILED_PRECONDITION',
    400,
    'EXTENSION_SUPPORT_REQUIRED',
    'a2a-protocol.org',
  ],
  ['versionNotSupported', -32009, 'FAILED_PRECONDITION', 400, 'VERSION_NOT_SUPPORTED', 'a2a-protocol.org'],
  ['parseError', -32700, 'INVALID_ARGUMENT', 400, 'PARSE_ERROR', 'a2a-protocol.org'],
  ['invalidRequest', -32600, 'INVALID_ARGUMENT', 400, 'INVALID_REQUEST', 'a2a-protocol.org'],
  ['methodNotFound', -32601, 'UNIMPLEMENTED', 404, 'METHOD_NOT_FOUND', 'a2a-protocol.org'],
  ['invalidParams', -32602, 'INVALID_ARGUMENT', 400, 'INVALID_PARAMS', 'a2a-protocol.org'],
  ['internal', -32603, 'INTERNAL', 500, 'INTERNAL', 'a2a-protocol.org'],
  ['notFound', -32000, 'NOT_FOUND', 404, 'NOT_FOUND', 'parley.dev'],
  ['methodNotAllowed', -32000, 'UNIMPLEMENTED', 405, 'METHOD_NOT_ALLOWED', 'parley.dev'],
  ['unauthenticated', -32000, 'UNAUTHENTICATED', 401, 'UNAUTHENTICATED', 'parley.dev'],
  ['permissionDenied', -32000, 'PERMISSION_DENIED', 403, 'PERMISSION_DENIED', 'parley.dev'],
  ['rateLimited', -32000, 'RESOURCE_EXHAUSTED', 429, 'RATE_LIMITED', 'parley.dev'],
  ['unavailable', -32000, 'UNAVAILABLE', 503, 'UNAVAILABLE', 'parley.dev'],
  ['deadlineExceeded', -32000, 'DEADLINE_EXCEEDED', 504, 'DEADLINE_EXCEEDED', 'parley.dev'],
  ['aborted', -32000, 'ABORTED', 409, 'ABORTED', 'parley.dev'],
  ['payloadTooLarge', -32000, 'RESOURCE_EXHAUSTED', 413, 'PAYLOAD_TOO_LARGE', 'parley.dev'],
];

const INFO = 'type.googleapis.com/google.rpc.ErrorInfo';

describe('the error table', () => {
  it('has a row of the expected table for every kind', () => {
    expect(TABLE.map(([kind]) => kind).sort()).toEqual(Object.keys(ERRORS).sort());
  });

  it.each(TABLE)('says %s the same way on three bindings', (kind, code, status, http, reason, domain) => {
    const error = new A2AError(kind, { metadata: { taskId: 't' } });
    const info = { '@type': INFO, reason, domain, metadata: { taskId: 't' } };
    const { message } = error;

    expect(toJsonRpcError(error)).toEqual({ code, message, data: [info] });
    expect(toHttpError(error)).toEqual({
      status: http,
      headers: {},
      body: { error: { code: http, status, message, details: [info] } },
    });

    const grpc = toGrpcError(error);
    const sent = fromBinary(StatusSchema, grpc.details);
    expect(grpc).toMatchObject({ code: GRPC_STATUS[status], message });
    expect(sent).toMatchObject({ code: GRPC_STATUS[status], message });
    expect(sent.details.map(({ typeUrl }) => typeUrl)).toEqual([INFO]);
    expect(anyUnpack(sent.details[0]!, ErrorInfoSchema)).toMatchObject({
      reason,
      domain,
      metadata: { taskId: 't' },
    });
  });

  it.each(TABLE)(
    'travels as JSON-RPC %s in the HTTP status that clients act on',
    (kind, _code, _status, http) => {
      const own = [401, 403, 413, 429, 503, 504].includes(http);
      expect(httpStatusOfJsonRpc(new A2AError(kind))).toBe(own ? http : 200);
    },
  );
});

describe('the details of an error', () => {
  it('carry field violations as BadRequest', () => {
    const error = invalidField('message.parts[1]', 'must have exactly one of text, raw, url, data');
    const fieldViolations = [
      { field: 'message.parts[1]', description: 'must have exactly one of text, raw, url, data' },
    ];
    const json = { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations };
    expect(toJsonRpcError(error).data[1]).toEqual(json);
    expect(toHttpError(error).body).toMatchObject({ error: { details: [{}, json] } });
    const sent = fromBinary(StatusSchema, toGrpcError(error).details);
    expect(anyUnpack(sent.details[1]!, BadRequestSchema)).toMatchObject({ fieldViolations });
  });

  it('carry the time to wait as RetryInfo and Retry-After', () => {
    const error = new A2AError('rateLimited', { retryAfter: 1.5 });
    expect(toHttpError(error).headers).toEqual({ 'retry-after': '2' });
    expect(toJsonRpcError(error).data[1]).toEqual({
      '@type': 'type.googleapis.com/google.rpc.RetryInfo',
      retryDelay: '1.500s',
    });
    const sent = fromBinary(StatusSchema, toGrpcError(error).details);
    expect(anyUnpack(sent.details[1]!, RetryInfoSchema)?.retryDelay).toMatchObject({
      seconds: 1n,
      nanos: 5e8,
    });
  });

  it('carry the challenge as a header and the trace id in the metadata', () => {
    const error = new A2AError('unauthenticated', { challenge: 'Bearer realm="parley"' });
    expect(toHttpError(error, 'abc')).toMatchObject({
      headers: { 'www-authenticate': 'Bearer realm="parley"' },
      body: { error: { details: [{ metadata: { traceId: 'abc' } }] } },
    });
  });

  it('stay small enough for gRPC trailers whatever the client sent', () => {
    const long = 'x'.repeat(10_000);
    const violations = Array.from({ length: 20 }, () => ({
      field: 'message.parts[0].text',
      description: 'is required',
    }));
    const error = new A2AError('invalidParams', { metadata: { requested: long }, violations });
    expect(toGrpcError(error).details.length).toBeLessThan(4096);
    expect(toGrpcError(invalidField('f', long)).details.length).toBeLessThan(4096);
    expect(() => toGrpcError(invalidField('f', `${'x'.repeat(199)}😀`))).not.toThrow();
  });

  it('say nothing of an unknown exception', () => {
    const error = asA2AError(new TypeError('password=hunter2 at /srv/app.js'));
    expect(error.kind).toBe('internal');
    expect(error.cause).toBeInstanceOf(TypeError);
    const said =
      JSON.stringify([toJsonRpcError(error), toHttpError(error)]) +
      Buffer.from(toGrpcError(error).details).toString();
    expect(said).not.toMatch(/hunter2|TypeError|app\.js/);
  });

  it('are those of the error itself when it is known', () => {
    const error = new A2AError('taskNotFound');
    expect(asA2AError(error)).toBe(error);
  });
});
