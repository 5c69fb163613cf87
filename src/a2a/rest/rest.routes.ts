import { HTTP_ROUTES } from '../../protocol/index.js';

/** Where the routes of the proto hang: at the root for the default agent, and below each agent. */
export const REST_BASES = ['/rest', '/agents/:agent/rest'];

const MATCHERS = HTTP_ROUTES.map(({ method, template }) => {
  const path = template.replace(/\{[^}]+\}/g, '[^/]+');
  return { method, pattern: new RegExp(`^(/agents/[^/]+)?/rest${path}$`) };
});

/** The HTTP methods that a path answers; none when there is no such path. */
export function methodsAt(path: string): string[] {
  return [...new Set(MATCHERS.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method))];
}
