/**
 * The one error table and the one error class. A kind is a key of {@link ERRORS}; everything that a
 * binding says of an error (JSON-RPC code, HTTP status, gRPC status, reason) stands in its row
 * (specification 5.4; the rows without an A2A code are Parley's own and share JSON-RPC code -32000).
 */
export const GRPC_STATUS = {
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  UNAUTHENTICATED: 16,
} as const;

export type GrpcStatusName = keyof typeof GRPC_STATUS;

/** The domain of errors that A2A defines, and of those that are Parley's own. */
export const A2A_DOMAIN = 'a2a-protocol.org';
export const PARLEY_DOMAIN = 'parley.dev';

interface ErrorRow {
  readonly jsonrpc: number;
  readonly grpc: GrpcStatusName;
  readonly http: number;
  /** `google.rpc.ErrorInfo.reason`, UPPER_SNAKE. */
  readonly reason: string;
  readonly message: string;
  readonly domain?: string;
}

const own = (grpc: GrpcStatusName, http: number, reason: string, message: string): ErrorRow => ({
  jsonrpc: -32000,
  grpc,
  http,
  reason,
  message,
  domain: PARLEY_DOMAIN,
});

export const ERRORS = {
  parseError: {
    jsonrpc: -32700,
    grpc: 'INVALID_ARGUMENT',
    http: 400,
    reason: 'PARSE_ERROR',
    message: 'The body is not valid JSON',
  },
  invalidRequest: {
    jsonrpc: -32600,
    grpc: 'INVALID_ARGUMENT',
    http: 400,
    reason: 'INVALID_REQUEST',
    message: 'The request is not valid',
  },
  methodNotFound: {
    jsonrpc: -32601,
    grpc: 'UNIMPLEMENTED',
    http: 404,
    reason: 'METHOD_NOT_FOUND',
    message: 'There is no such method',
  },
  invalidParams: {
    jsonrpc: -32602,
    grpc: 'INVALID_ARGUMENT',
    http: 400,
    reason: 'INVALID_PARAMS',
    message: 'The parameters are not valid',
  },
  internal: {
    jsonrpc: -32603,
    grpc: 'INTERNAL',
    http: 500,
    reason: 'INTERNAL',
    message: 'Something went wrong on our side',
  },
  taskNotFound: {
    jsonrpc: -32001,
    grpc: 'NOT_FOUND',
    http: 404,
    reason: 'TASK_NOT_FOUND',
    message: 'There is no such task',
  },
  taskNotCancelable: {
    jsonrpc: -32002,
    grpc: 'FAILED_PRECONDITION',
    http: 400,
    reason: 'TASK_NOT_CANCELABLE',
    message: 'The task has already ended',
  },
  pushNotificationNotSupported: {
    jsonrpc: -32003,
    grpc: 'FAILED_PRECONDITION',
    http: 400,
    reason: 'PUSH_NOTIFICATION_NOT_SUPPORTED',
    message: 'This agent sends no push notifications',
  },
  unsupportedOperation: {
    jsonrpc: -32004,
    grpc: 'FAILED_PRECONDITION',
    http: 400,
    reason: 'UNSUPPORTED_OPERATION',
    message: 'This operation is not supported here',
  },
  contentTypeNotSupported: {
    jsonrpc: -32005,
    grpc: 'INVALID_ARGUMENT',
    http: 400,
    reason: 'CONTENT_TYPE_NOT_SUPPORTED',
    message: 'The content type is not supported',
  },
  invalidAgentResponse: {
    jsonrpc: -32006,
    grpc: 'INTERNAL',
    http: 500,
    reason: 'INVALID_AGENT_RESPONSE',
    message: 'The agent gave no valid answer',
  },
  extendedAgentCardNotConfigured: {
    jsonrpc: -32007,
    grpc: 'FAILED_PRECONDITION',
    http: 400,
    reason: 'EXTENDED_AGENT_CARD_NOT_CONFIGURED',
    message: 'This agent has no extended card',
  },
  extensionSupportRequired: {
    jsonrpc: -32008,
    grpc: 'FAILED_PRECONDITION',
    http: 400,
    reason: 'EXTENSION_SUPPORT_REQUIRED',
    message: 'The agent requires an extension that the client did not declare',
  },
  versionNotSupported: {
    jsonrpc: -32009,
    grpc: 'FAILED_PRECONDITION',
    http: 400,
    reason: 'VERSION_NOT_SUPPORTED',
    message: 'This version of A2A is not served here',
  },
  notFound: own('NOT_FOUND', 404, 'NOT_FOUND', 'There is nothing at this address'),
  methodNotAllowed: own(
    'UNIMPLEMENTED',
    405,
    'METHOD_NOT_ALLOWED',
    'This address does not answer that HTTP method',
  ),
  unauthenticated: own('UNAUTHENTICATED', 401, 'UNAUTHENTICATED', 'A valid credential is required'),
  permissionDenied: own('PERMISSION_DENIED', 403, 'PERMISSION_DENIED', 'The credential does not allow this'),
  rateLimited: own('RESOURCE_EXHAUSTED', 429, 'RATE_LIMITED', 'Too many requests'),
  unavailable: own('UNAVAILABLE', 503, 'UNAVAILABLE', 'The service cannot answer right now'),
  deadlineExceeded: own(
    'DEADLINE_EXCEEDED',
    504,
    'DEADLINE_EXCEEDED',
    'The time allowed for this call is over',
  ),
  aborted: own('ABORTED', 409, 'ABORTED', 'The call collided with another one'),
  payloadTooLarge: own('RESOURCE_EXHAUSTED', 413, 'PAYLOAD_TOO_LARGE', 'The request is larger than allowed'),
} as const satisfies Record<string, ErrorRow>;

export type ErrorKind = keyof typeof ERRORS;

/** One wrong field: its path in JSON form (`message.parts[1]`) and what is wrong with it. */
export interface FieldViolation {
  readonly field: string;
  readonly description: string;
}

export interface A2AErrorOptions {
  /** Replaces the row's message. Never the text of a caught exception. */
  readonly message?: string;
  /** Goes into `ErrorInfo.metadata`; values are cut at 200 characters. */
  readonly metadata?: Readonly<Record<string, string>>;
  readonly violations?: readonly FieldViolation[];
  /** Seconds after which a retry makes sense: `Retry-After` and `google.rpc.RetryInfo`. */
  readonly retryAfter?: number;
  /** The `WWW-Authenticate` challenge of a 401 or 403. */
  readonly challenge?: string;
  /** What went wrong inside. Logged once, never sent. */
  readonly cause?: unknown;
}

const LONGEST_VALUE = 200;
const LONGEST_MESSAGE = 400;

/** Cuts a value of a request that an error repeats: long ones break gRPC trailers, and so do halves of a pair. */
export function excerpt(value: string, longest = LONGEST_VALUE): string {
  return (value.length > longest ? `${value.slice(0, longest)}…` : value).toWellFormed();
}

/** The only error that a port, the service or a controller throws on purpose. */
export class A2AError extends Error {
  readonly metadata: Readonly<Record<string, string>>;
  readonly violations: readonly FieldViolation[];
  readonly retryAfter: number | undefined;
  readonly challenge: string | undefined;

  constructor(
    readonly kind: ErrorKind,
    options: A2AErrorOptions = {},
  ) {
    super(excerpt(options.message ?? ERRORS[kind].message, LONGEST_MESSAGE), { cause: options.cause });
    this.name = 'A2AError';
    this.metadata = Object.fromEntries(
      Object.entries(options.metadata ?? {}).map(([key, value]) => [key, excerpt(value)]),
    );
    this.violations = (options.violations ?? []).map(({ field, description }) => ({
      field: excerpt(field),
      description: excerpt(description),
    }));
    this.retryAfter = options.retryAfter;
    this.challenge = options.challenge;
  }

  get row(): ErrorRow {
    return ERRORS[this.kind];
  }

  get domain(): string {
    return this.row.domain ?? A2A_DOMAIN;
  }
}

/** InvalidParams for one field. */
export function invalidField(field: string, description: string): A2AError {
  return invalidFields([{ field, description }]);
}

/** InvalidParams for fields, at least one of them. The message says what is wrong with the first one. */
export function invalidFields(violations: readonly FieldViolation[]): A2AError {
  const [first] = violations;
  const more = violations.length > 1 ? ` (and ${violations.length - 1} more)` : '';
  const place = first?.field ? `${first.field}: ` : '';
  const message = first && `${place}${first.description}${more}`;
  return new A2AError('invalidParams', { message, violations });
}
