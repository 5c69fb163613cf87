import { errorHeaders, httpStatusOfJsonRpc, toJsonRpcError } from '../../protocol/index.js';
import type { Fault } from '../faults.js';
import type { HttpAnswer } from '../http.caller.js';

export const JSON_TYPE = 'application/json';

/** `id` and `result` are JSON text, which is put in as it is. */
export const resultText = (id: string, result: string) => `{"jsonrpc":"2.0","id":${id},"result":${result}}`;

export function errorText(id: string, { error, traceId }: Fault): string {
  return `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify(toJsonRpcError(error, traceId))}}`;
}

/** Most errors travel in HTTP 200. `status` replaces that where the HTTP server itself refuses. */
export function errorAnswer(id: string, fault: Fault, status?: number): HttpAnswer {
  return {
    status: status ?? httpStatusOfJsonRpc(fault.error),
    type: JSON_TYPE,
    headers: Object.entries(errorHeaders(fault.error)),
    body: errorText(id, fault),
  };
}
