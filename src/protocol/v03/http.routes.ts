import { type DescMethod, getOption, type JsonValue, type Message } from '@bufbuild/protobuf';
import { http } from '../gen/google/api/annotations_pb.js';
import { type HttpInput, type HttpMethod, queryAsJson } from '../http.routes.js';
import { decodeMessage } from '../json.codec.js';
import { isObject } from '../json.diagnosis.js';
import { RPCS, type Rpc } from './rpcs.js';

/** A route of 0.3's HTTP+JSON binding. */
export interface RestRoute {
  readonly rpc: Rpc;
  readonly method: HttpMethod;
  /** As in the proto: `/v1/{name=tasks/*}:cancel`. */
  readonly template: string;
  /** As Fastify wants it: `/v1/tasks/:p0(^.+)::cancel`. */
  readonly fastifyPath: string;
  /** What of the request the body is: all (`*`), a field of it, or nothing. */
  readonly body: string;
  /** The field that the path fills, and the resource name that goes into it: `tasks/:p0`. */
  readonly resource?: { readonly field: string; readonly name: string };
}

/** One for each rpc, and a POST twin for the streaming GET, which is what SDKs send. */
export const REST_ROUTES: readonly RestRoute[] = RPCS.flatMap((rpc) => {
  const route = routeOf(rpc, rpc.method);
  const isStreamingGet = route.method === 'GET' && rpc.method.methodKind === 'server_streaming';
  return isStreamingGet ? [route, { ...route, method: 'POST', body: '*' }] : [route];
});

function routeOf(rpc: Rpc, method: DescMethod): RestRoute {
  const { pattern, body } = getOption(method, http);
  if (pattern.case === undefined || pattern.case === 'custom') {
    throw new Error(`${method.name} has a google.api.http pattern that is not a method`);
  }
  const template = pattern.value;
  const [, field, star] = /\{(\w+)=([^}]+)\}/.exec(template) ?? [];
  let count = 0;
  const name = star?.replace(/\*/g, () => `:p${count++}`);
  // A colon is doubled where it is meant; a parameter before one takes colons too, the last one ends it.
  const fastifyPath = template
    .replace(/:/g, '::')
    .replace(/\{[^}]+\}(?=(:?))/, (_, verb: string) => name + (verb && '(^.+)'));
  const resource = field && name ? { field, name } : undefined;
  return { rpc, method: pattern.case.toUpperCase() as HttpMethod, template, fastifyPath, body, resource };
}

/** The request of a2a.v1 that an HTTP call makes. @throws A2AError `invalidParams` */
export function requestOf({ rpc, body, resource }: RestRoute, input: HttpInput): Message {
  const { input: desc } = rpc.method;
  const request: Message = decodeMessage(desc, jsonOf(rpc, body, input));
  if (!resource) return request;
  const name = resource.name.replace(/:(p\d)/g, (_, param: string) => input.params[param] ?? '');
  return Object.assign(request, { [resource.field]: name });
}

/** Where the body is one field, the SDK for Python sends the whole request all the same. */
function jsonOf({ method }: Rpc, field: string, { body = {}, query }: HttpInput): JsonValue {
  if (field === '') return queryAsJson(method.input, query);
  return field === '*' || (isObject(body) && field in body) ? body : { [field]: body };
}
