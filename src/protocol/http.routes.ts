import {
  type DescField,
  type DescMessage,
  type DescMethod,
  getOption,
  type JsonObject,
  type JsonValue,
  ScalarType,
} from '@bufbuild/protobuf';
import { invalidField } from './errors.js';
import { http } from './gen/google/api/annotations_pb.js';
import type { HttpRule } from './gen/google/api/http_pb.js';
import { decodeMessage } from './json.codec.js';
import { OPERATION_NAMES, OPERATIONS, type OperationName, type RequestOf } from './operations.js';

export type HttpMethod = 'GET' | 'PUT' | 'POST' | 'DELETE' | 'PATCH';

export interface HttpRoute<O extends OperationName = OperationName> {
  readonly operation: O;
  readonly method: HttpMethod;
  /** As in the proto: `/tasks/{id=*}:cancel`. */
  readonly template: string;
  /** As Fastify wants it: `/tasks/:id(^.+)::cancel`. Its parameters are `pathFields`. */
  readonly fastifyPath: string;
  /** JSON names of the request fields that stand in the path. */
  readonly pathFields: readonly string[];
  /** Whether the body is the request (`body: "*"`); else the query is. */
  readonly body: boolean;
}

export interface HttpInput {
  /** The path parameters, decoded. */
  readonly params: Readonly<Record<string, string>>;
  /** As Fastify parses it. */
  readonly query: Readonly<Record<string, string | string[] | undefined>>;
  /** The parsed JSON body, or undefined when it was empty. */
  readonly body: JsonValue | undefined;
}

/**
 * Every route of the service: one for each google.api.http binding, `/{tenant}` forms included, and a POST twin
 * for each streaming GET (the specification has SubscribeToTask both ways).
 */
export const HTTP_ROUTES: readonly HttpRoute[] = OPERATION_NAMES.flatMap((operation) => {
  const method: DescMethod = OPERATIONS[operation];
  const rule = getOption(method, http);
  const routes = [rule, ...rule.additionalBindings].map((binding) => routeOf(operation, method, binding));
  const twins = routes.filter((route) => route.method === 'GET' && method.methodKind === 'server_streaming');
  return [...routes, ...twins.map((route): HttpRoute => ({ ...route, method: 'POST', body: true }))];
});

function routeOf(operation: OperationName, { input }: DescMethod, { pattern, body }: HttpRule): HttpRoute {
  if (pattern.case === undefined || pattern.case === 'custom') {
    throw new Error(`${operation} has a google.api.http pattern that is not a method`);
  }
  const template = pattern.value;
  const jsonNames = new Map(input.fields.map((field) => [field.name, field.jsonName]));
  const pathFields: string[] = [];
  // A colon is doubled where it is meant; a parameter before one takes colons too, the last one ends it.
  const fastifyPath = template.replace(/\{(\w+)(?:=\*)?\}(:)?|:/g, (_, name?: string, verb?: string) => {
    if (name === undefined) return '::';
    const field = jsonNames.get(name)!;
    pathFields.push(field);
    return verb ? `:${field}(^.+)::` : `:${field}`;
  });
  return {
    operation,
    method: pattern.case.toUpperCase() as HttpMethod,
    template,
    fastifyPath,
    pathFields,
    body: body === '*',
  };
}

/**
 * The request that an HTTP call makes: body or query, then the path over it.
 * Errors: invalidParams for what does not fit, and for a field that the path and the body give differently.
 */
export function requestFromHttp<O extends OperationName>(
  route: HttpRoute<O>,
  input: HttpInput,
): RequestOf<O> {
  const { input: desc } = OPERATIONS[route.operation];
  const json = route.body ? (input.body ?? {}) : queryAsJson(desc, input.query);
  const request = decodeMessage<DescMessage>(desc, json) as unknown as Record<string, unknown>;
  for (const field of route.pathFields) {
    const value = input.params[field] ?? '';
    if (request[field] !== '' && request[field] !== value) throw invalidField(field, 'differs from the path');
    request[field] = value;
  }
  return request as RequestOf<O>;
}

/** The query parameters that the request knows, by either name, as ProtoJSON. */
export function queryAsJson(desc: DescMessage, query: HttpInput['query']): JsonObject {
  const json: JsonObject = {};
  for (const field of desc.fields) {
    for (const name of new Set([field.jsonName, field.name])) {
      const text = query[name];
      if (text !== undefined) json[name] = parameterAsJson(field, [text].flat());
    }
  }
  return json;
}

function parameterAsJson(field: DescField, values: string[]): JsonValue {
  // Several values of one that stands alone: an array, which does not decode.
  if (field.fieldKind === 'list' || values.length !== 1) return values;
  const text = values[0]!;
  if (field.scalar === ScalarType.STRING) return text;
  if (text === '') return null;
  if (field.scalar === ScalarType.BOOL && (text === 'true' || text === 'false')) return text === 'true';
  if (field.enum && /^\d+$/.test(text)) return Number(text);
  // A time with an offset whose `+` was not escaped arrives with a space.
  return field.message ? text.replace(' ', '+') : text;
}
