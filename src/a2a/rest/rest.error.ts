import type { JsonObject } from '@bufbuild/protobuf';
import { toHttpError } from '../../protocol/index.js';
import type { Fault } from '../faults.js';
import type { HttpAnswer } from '../http.caller.js';

export const REST_TYPE = 'application/a2a+json';

/** A `google.rpc.Status` in its JSON form (11.6). `better` replaces the error's status where HTTP has a better one. */
export function errorAnswer({ error, traceId }: Fault, better?: number): HttpAnswer {
  const { status, headers, body } = toHttpError(error, traceId);
  const shown = better === undefined ? body : { error: { ...(body.error as JsonObject), code: better } };
  return {
    status: better ?? status,
    type: REST_TYPE,
    headers: Object.entries(headers),
    body: JSON.stringify(shown),
  };
}
