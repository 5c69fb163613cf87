import { HTTP_ROUTES, requestFromHttp, type StreamEvent } from '../../protocol/index.js';
import type { RestOperation } from '../dialect.js';
import { replyText } from '../reply.text.js';
import { v03RestOperations } from '../v03/index.js';
import { errorAnswer, REST_TYPE } from './rest.error.js';

const jsonOf = ({ json }: StreamEvent) => json;

/** Where the routes of the protos hang: at the root for the default agent, and below each agent and version. */
export const REST_BASES = ['/rest', '/agents/:agent/rest', '/agents/:agent/versions/:version/rest'];

/** Every route, of every version: those of 0.3 stand below `/v1`. */
export const REST_OPERATIONS: readonly RestOperation[] = [
  ...HTTP_ROUTES.map((route): RestOperation => {
    const { operation, method, template, fastifyPath } = route;
    return {
      operation,
      version: '1.0',
      method,
      template,
      path: fastifyPath,
      type: REST_TYPE,
      read: (input) => requestFromHttp(route, input),
      write: (reply, request) => replyText(operation, request, reply),
      events: () => jsonOf,
      error: (fault) => errorAnswer(fault),
    };
  }),
  ...v03RestOperations,
];

const MATCHERS = REST_OPERATIONS.map(({ method, template }) => {
  const path = template.replace(/\{\w+(?:=([^}]+))?\}/g, (_, segments = '*') => segments);
  return {
    method,
    pattern: new RegExp(`^(/agents/[^/]+(/versions/[^/]+)?)?/rest${path.replaceAll('*', '[^/]+')}$`),
  };
});

/** The HTTP methods that a path answers; none when there is no such path. */
export function methodsAt(path: string): string[] {
  return [...new Set(MATCHERS.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method))];
}
