import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { A2AError } from '../../protocol/index.js';

/** A JSON-RPC 2.0 request. */
export interface Envelope {
  readonly method: string;
  readonly params: JsonObject;
}

/** The request's id as JSON text, to be echoed with its type; `null` when there is none that can be echoed. */
export function idText(body: JsonValue | undefined): string {
  const id = isObject(body) ? body.id : undefined;
  return isId(id) ? JSON.stringify(id) : 'null';
}

/** @throws A2AError `parseError` for no body, `invalidRequest` for a faulty envelope, `invalidParams` */
export function readEnvelope(body: JsonValue | undefined): Envelope {
  if (body === undefined) throw new A2AError('parseError', { message: 'The body is empty' });
  if (Array.isArray(body)) throw invalid('batches are not supported');
  if (!isObject(body)) throw invalid('it must be an object');
  if (body.jsonrpc !== '2.0') throw invalid('"jsonrpc" must be "2.0"');
  if (!isId(body.id)) throw invalid('"id" must be a string, an integer or null');
  if (typeof body.method !== 'string') throw invalid('"method" must be a string');
  const params = body.params ?? {};
  if (!isObject(params)) {
    throw new A2AError('invalidParams', { message: '"params" must be an object' });
  }
  return { method: body.method, params };
}

const invalid = (what: string) =>
  new A2AError('invalidRequest', { message: `This is not a JSON-RPC 2.0 request: ${what}` });

/** Integers beyond 2^53 cannot be echoed as they came. */
const isId = (id: JsonValue | undefined) =>
  id === null || typeof id === 'string' || (typeof id === 'number' && Number.isSafeInteger(id));

const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
