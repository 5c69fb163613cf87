import type { JsonObject } from '@bufbuild/protobuf';
import { ERRORS, type ErrorKind, GRPC_STATUS } from '../errors.js';

/** What HTTP or a JSON-RPC envelope answer, never an operation of HTTP+JSON. */
const ELSEWHERE: readonly ErrorKind[] = ['invalidRequest', 'methodNotFound', 'methodNotAllowed'];

const ROWS = (Object.keys(ERRORS) as ErrorKind[])
  .filter((kind) => !ELSEWHERE.includes(kind))
  .map((kind) => ERRORS[kind]);

/** Every HTTP status of an error. */
export const ERROR_STATUSES = [...new Set(ROWS.map(({ http }) => http))].sort((a, b) => a - b);

const DETAIL: JsonObject = {
  type: 'object',
  description: 'A message of google.rpc; ErrorInfo comes first',
  properties: {
    '@type': { type: 'string' },
    reason: { type: 'string', enum: [...new Set(ROWS.map(({ reason }) => reason))] },
    domain: { type: 'string' },
    metadata: { type: 'object', additionalProperties: { type: 'string' } },
    fieldViolations: {
      type: 'array',
      items: {
        type: 'object',
        properties: { field: { type: 'string' }, description: { type: 'string' } },
      },
    },
    retryDelay: { type: 'string' },
  },
  required: ['@type'],
};

/** The two forms of an error (specification 11.6, and the JSON-RPC error that clients of 0.3 read). */
export const ERROR_SCHEMAS: Readonly<Record<string, JsonObject>> = {
  ErrorDetail: DETAIL,
  Error: {
    type: 'object',
    description: 'A google.rpc.Status with the HTTP status as its code',
    properties: {
      error: {
        type: 'object',
        properties: {
          code: { type: 'integer', format: 'int32' },
          status: { type: 'string', enum: Object.keys(GRPC_STATUS) },
          message: { type: 'string' },
          details: { type: 'array', items: { $ref: '#/components/schemas/ErrorDetail' } },
        },
        required: ['code', 'status', 'message', 'details'],
      },
    },
    required: ['error'],
  },
  V03Error: {
    type: 'object',
    description: 'A JSON-RPC error',
    properties: {
      code: { type: 'integer', format: 'int32' },
      message: { type: 'string' },
      data: { type: 'array', items: { $ref: '#/components/schemas/ErrorDetail' } },
    },
    required: ['code', 'message', 'data'],
  },
};

/** One response for each status, by the name that {@link errorResponses} refers to it with. */
export function errorComponents(prefix: '' | 'V03', type: string): Record<string, JsonObject> {
  const named = ERROR_STATUSES.map((status): [string, JsonObject] => {
    const rows = ROWS.filter(({ http }) => http === status);
    const description = rows.map(({ reason, message }) => `\`${reason}\`: ${message}.`).join('\n');
    const content = { [type]: { schema: { $ref: `#/components/schemas/${prefix}Error` } } };
    return [`${prefix}Error${status}`, { description, content }];
  });
  return Object.fromEntries(named);
}

export function errorResponses(prefix: '' | 'V03'): Record<string, JsonObject> {
  return Object.fromEntries(
    ERROR_STATUSES.map((status) => [status, { $ref: `#/components/responses/${prefix}Error${status}` }]),
  );
}
