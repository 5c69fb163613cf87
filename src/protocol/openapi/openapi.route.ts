import type { DescMessage, DescMethod, JsonObject } from '@bufbuild/protobuf';
import { HTTP_ROUTES, type HttpMethod } from '../http.routes.js';
import { OPERATIONS, type OperationName } from '../operations.js';
import * as v03 from '../v03/index.js';

/** A route of either version, as the document describes it. */
export interface OpenApiRoute {
  readonly operation: OperationName;
  readonly id: string;
  /** The rpc's own name, which its comment in the proto stands at. */
  readonly rpc: string;
  readonly version: '1.0' | '0.3';
  readonly method: HttpMethod;
  /** `/tasks/{id}:cancel` */
  readonly path: string;
  readonly pathParameters: readonly string[];
  readonly input: DescMessage;
  /** Proto names of the input's fields that the path gives. */
  readonly inPath: readonly string[];
  /** The whole input (`*`), a field of it, or nothing (the input is the query). */
  readonly body: string;
  readonly output: DescMessage;
  readonly isStream: boolean;
  /** The answer, where it is not the output. */
  readonly reply?: (schemaOf: (desc: DescMessage) => JsonObject) => JsonObject;
}

/** The tenant's forms of the 1.0 routes are the same routes below another server. */
const CURRENT = HTTP_ROUTES.filter(({ pathFields }) => !pathFields.includes('tenant'));

const PATH_PARAMETER = /\{(\w+)(?:=[^}]*)?\}/g;
const byPost = (method: HttpMethod, isTwin: boolean) => (isTwin && method === 'POST' ? 'ByPost' : '');

export const ROUTES: readonly OpenApiRoute[] = CURRENT.map((route) => {
  const method: DescMethod = OPERATIONS[route.operation];
  const isStream = method.methodKind === 'server_streaming';
  const names = [...route.template.matchAll(PATH_PARAMETER)].map(([, name = '']) => name);
  const jsonName = (name: string) => method.input.fields.find((field) => field.name === name)!.jsonName;
  const isTwin = isStream && route.operation === 'subscribeToTask';
  return {
    operation: route.operation,
    id: route.operation + byPost(route.method, isTwin),
    rpc: method.name,
    version: '1.0',
    method: route.method,
    path: route.template.replace(PATH_PARAMETER, (_, name: string) => `{${jsonName(name)}}`),
    pathParameters: names.map(jsonName),
    input: method.input,
    inPath: names,
    body: route.body ? '*' : '',
    output: method.output,
    isStream,
  };
});

/** `tasks/:p0/pushNotificationConfigs/:p1`, in the order of the segments. */
const V03_PARAMETERS = ['taskId', 'configId'];

const V03_LIST: OpenApiRoute = {
  ...ROUTES.find(({ operation }) => operation === 'listTasks')!,
  id: 'v03ListTasks',
  version: '0.3',
  path: '/v1/tasks',
  reply: (schemaOf) => ({
    type: 'object',
    properties: {
      tasks: { type: 'array', items: schemaOf(v03.TaskSchema) },
      nextPageToken: { type: 'string' },
      pageSize: { type: 'integer', format: 'int32' },
      totalSize: { type: 'integer', format: 'int32' },
    },
    required: ['tasks', 'nextPageToken', 'pageSize', 'totalSize'],
  }),
};

export const V03_ROUTES: readonly OpenApiRoute[] = [
  V03_LIST,
  ...v03.REST_ROUTES.map(({ rpc, method, template, body, resource }): OpenApiRoute => {
    const isStream = rpc.method.methodKind === 'server_streaming';
    const isTwin = isStream && rpc.operation === 'subscribeToTask';
    const name = rpc.operation.replace(/^./, (first) => first.toUpperCase());
    const path = template
      .replace(/\{\w+=([^}]+)\}/, '$1')
      .split('*')
      .reduce((before, after, index) => `${before}{${V03_PARAMETERS[index - 1]}}${after}`);
    return {
      operation: rpc.operation,
      id: `v03${name}${byPost(method, isTwin)}`,
      rpc: rpc.method.name,
      version: '0.3',
      method,
      path,
      pathParameters: V03_PARAMETERS.filter((parameter) => path.includes(`{${parameter}}`)),
      input: rpc.method.input,
      inPath: resource ? [resource.field] : [],
      body,
      output: rpc.method.output,
      isStream,
    };
  }),
];
