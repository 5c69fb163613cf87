import { expect } from 'vitest';

/** An error in one form for every binding: its ErrorInfo, and the fields of its BadRequest. */
export interface Refusal {
  readonly reason: string;
  readonly domain: string;
  readonly message: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly fields: readonly string[];
}

export interface Codes {
  readonly jsonrpc: number;
  readonly grpc: number;
  readonly http: number;
}

const codes = (jsonrpc: number, grpc: number, http: number): Codes => ({ jsonrpc, grpc, http });

/** Section 5.4 of the specification, and the errors of Parley's own, as PROTOCOL.md has them. */
const CODES: Readonly<Record<string, Codes>> = {
  TASK_NOT_FOUND: codes(-32001, 5, 404),
  TASK_NOT_CANCELABLE: codes(-32002, 9, 400),
  PUSH_NOTIFICATION_NOT_SUPPORTED: codes(-32003, 9, 400),
  UNSUPPORTED_OPERATION: codes(-32004, 9, 400),
  CONTENT_TYPE_NOT_SUPPORTED: codes(-32005, 3, 400),
  INVALID_AGENT_RESPONSE: codes(-32006, 13, 500),
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: codes(-32007, 9, 400),
  EXTENSION_SUPPORT_REQUIRED: codes(-32008, 9, 400),
  VERSION_NOT_SUPPORTED: codes(-32009, 9, 400),
  PARSE_ERROR: codes(-32700, 3, 400),
  INVALID_REQUEST: codes(-32600, 3, 400),
  METHOD_NOT_FOUND: codes(-32601, 12, 404),
  INVALID_PARAMS: codes(-32602, 3, 400),
  NOT_FOUND: codes(-32000, 5, 404),
  METHOD_NOT_ALLOWED: codes(-32000, 12, 405),
  PAYLOAD_TOO_LARGE: codes(-32000, 8, 413),
  UNAUTHENTICATED: codes(-32000, 16, 401),
  PERMISSION_DENIED: codes(-32000, 7, 403),
};

const OWN = new Set([
  'NOT_FOUND',
  'METHOD_NOT_ALLOWED',
  'PAYLOAD_TOO_LARGE',
  'UNAUTHENTICATED',
  'PERMISSION_DENIED',
]);

export interface ErrorDetail {
  readonly '@type': string;
  readonly reason?: string;
  readonly domain?: string;
  readonly metadata?: Record<string, string>;
  readonly fieldViolations?: { field: string; description: string }[];
}

const typed = (details: readonly ErrorDetail[], name: string) =>
  details.find((detail) => detail['@type'] === `type.googleapis.com/${name}`);

export const reasonOf = (details: readonly ErrorDetail[]): string =>
  typed(details, 'google.rpc.ErrorInfo')?.reason ?? '';

/**
 * Reads the details of an error, and holds its codes to the table: an error that is right in one binding and
 * wrong in another fails whichever test meets it.
 */
export function refusalOf(message: string, details: readonly ErrorDetail[], seen: Partial<Codes>): Refusal {
  const { reason = '', domain = '', metadata = {} } = typed(details, 'google.rpc.ErrorInfo') ?? {};
  const violations = typed(details, 'google.rpc.BadRequest')?.fieldViolations ?? [];
  const row: Partial<Codes> = CODES[reason] ?? {};
  expect(seen, `codes of ${reason}: ${message}`).toEqual(
    Object.fromEntries(Object.keys(seen).map((key) => [key, row[key as keyof Codes]])),
  );
  expect(domain).toBe(OWN.has(reason) ? 'parley.dev' : 'a2a-protocol.org');
  return { reason, domain, message, metadata, fields: violations.map(({ field }) => field) };
}
