import type { JsonValue } from '@bufbuild/protobuf';
import type { OperationName, RequestOf } from './operations.js';

export type HttpMethod = 'GET' | 'POST' | 'DELETE' | 'PUT' | 'PATCH';

export interface HttpRoute<O extends OperationName = OperationName> {
  readonly operation: O;
  readonly method: HttpMethod;
  /** As in the proto: `/tasks/{id=*}:cancel`. */
  readonly template: string;
  /** As Fastify wants it: `/tasks/:id(^.+)::cancel`. Parameters are named by `pathFields`. */
  readonly fastifyPath: string;
  /** JSON names of the request fields that stand in the path. */
  readonly pathFields: readonly string[];
  /** Whether the body is the request (`body: "*"`). Without it the query is read. */
  readonly body: boolean;
}

export interface HttpInput {
  readonly params: Readonly<Record<string, string>>;
  /** As Fastify parses it. */
  readonly query: Readonly<Record<string, string | string[] | undefined>>;
  /** The parsed JSON body, or undefined when it was empty. */
  readonly body: JsonValue | undefined;
}

/** Every route of the service, one for each google.api.http binding. */
export const HTTP_ROUTES: readonly HttpRoute[] = [];

/** The request that an HTTP call makes. Errors: invalidParams. */
export function requestFromHttp<O extends OperationName>(
  _route: HttpRoute<O>,
  _input: HttpInput,
): RequestOf<O> {
  throw new Error('not there yet');
}
