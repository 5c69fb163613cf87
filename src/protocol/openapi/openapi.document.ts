import type { JsonObject } from '@bufbuild/protobuf';
import { changeFeedPath } from './change.feed.path.js';
import { MessageSchemas } from './message.schemas.js';
import { ERROR_SCHEMAS, errorComponents } from './openapi.errors.js';
import { MEDIA_TYPES, operationOf, tagOf } from './openapi.operation.js';
import { type OpenApiRoute, ROUTES, V03_ROUTES } from './openapi.route.js';

/** What a service says of itself in its document. */
export interface OpenApiOptions {
  /** Of the release. */
  readonly release: string;
  /** Ids of the agents. */
  readonly agents: readonly string[];
  /** Base URL as clients know it, without a slash at its end. */
  readonly url: string;
  /** Whether an agent is served in 0.3 too. */
  readonly v03: boolean;
  /** Security Scheme Objects by name; one of them is enough. Empty: the service is open. */
  readonly securitySchemes: Readonly<Record<string, JsonObject>>;
  /** Of the protos of 1.0 and 0.3, from `protoComments`. */
  readonly comments: ReadonlyMap<string, string>;
  readonly v03Comments: ReadonlyMap<string, string>;
}

const header = (name: string, description: string, more: JsonObject): JsonObject => {
  return { name, in: 'header', description, ...more };
};
const TEXT = { schema: { type: 'string' } };

const PARAMETERS: Readonly<Record<string, JsonObject>> = {
  Version: header('A2A-Version', 'Without it the call is taken for A2A 0.3.', {
    required: true,
    schema: { type: 'string', enum: ['1.0'] },
  }),
  Extensions: header('A2A-Extensions', 'URIs of extensions to use, separated by commas.', TEXT),
  LastEventId: header('Last-Event-ID', 'Goes on after this event, without the snapshot.', TEXT),
};
const V03_PARAMETERS: Readonly<Record<string, JsonObject>> = {
  V03Version: header('A2A-Version', 'May be left out.', { schema: { type: 'string', enum: ['0.3'] } }),
  V03Extensions: header('X-A2A-Extensions', 'URIs of extensions to use, separated by commas.', TEXT),
};

/** The HTTP+JSON binding as an OpenAPI 3.1 document, made from the descriptors of the protos, with the change feed. */
export function openApiDocument(options: OpenApiOptions): JsonObject {
  const { release, securitySchemes, v03 } = options;
  const current = new MessageSchemas(options.comments);
  const legacy = new MessageSchemas(options.v03Comments);
  const paths: Record<string, JsonObject> = {};
  for (const route of v03 ? [...ROUTES, ...V03_ROUTES] : ROUTES) {
    const isCurrent = route.version === '1.0';
    const item: JsonObject = isCurrent ? {} : { servers: serversOf(options).slice(0, 2) };
    paths[route.path] = {
      ...(paths[route.path] ?? item),
      [route.method.toLowerCase()]: isCurrent
        ? operationOf(route, current, options.comments)
        : operationOf(route, legacy, options.v03Comments),
    };
  }
  paths['/changes'] = changeFeedPath(baseServers(options), current);
  const { V03Error, ...errors } = ERROR_SCHEMAS;
  return {
    openapi: '3.1.0',
    info: {
      title: 'Parley',
      version: release,
      summary: 'Agents behind the A2A protocol, over HTTP+JSON',
      description:
        'Every agent has these operations below its own address, the default agent also at the root. The same operations are there over JSON-RPC and gRPC: see the agent card.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: serversOf(options),
    tags: tagsOf(v03 ? [...ROUTES, ...V03_ROUTES] : ROUTES),
    security: Object.keys(securitySchemes).map((name) => ({ [name]: [] })),
    paths,
    components: {
      schemas: {
        ...current.components,
        ...errors,
        ...(v03 ? { ...legacy.components, V03Error: V03Error! } : {}),
      },
      parameters: { ...PARAMETERS, ...(v03 ? V03_PARAMETERS : {}) },
      responses: {
        ...errorComponents('', MEDIA_TYPES['1.0']),
        ...(v03 ? errorComponents('V03', MEDIA_TYPES['0.3']) : {}),
      },
      ...(Object.keys(securitySchemes).length > 0 ? { securitySchemes } : {}),
    },
  };
}

/** The default agent, every agent and version of one, and every agent by the tenant's form of the routes. */
function serversOf({ url, agents }: OpenApiOptions): JsonObject[] {
  const agent = { enum: [...agents], default: agents[0] ?? '' };
  return [
    { url: `${url}/rest`, description: 'The default agent' },
    { url: `${url}/agents/{agent}/rest`, description: 'Any agent', variables: { agent } },
    {
      url: `${url}/agents/{agent}/versions/{version}/rest`,
      description: 'A version of an agent',
      variables: { agent, version: { default: '1.0.0' } },
    },
    {
      url: `${url}/rest/{tenant}`,
      description: 'Any agent, by the tenant in the path',
      variables: { tenant: agent },
    },
  ];
}

/** The default agent and every agent, above their bindings. */
function baseServers(options: OpenApiOptions): JsonObject[] {
  const [root, agent] = serversOf(options);
  return [root!, agent!].map((server) => ({
    ...server,
    url: String(server.url).replace(/\/rest$/, '') || '/',
  }));
}

const tagsOf = (routes: readonly OpenApiRoute[]): JsonObject[] => [
  ...new Map(routes.map(tagOf).map((tag) => [tag.name, tag])).values(),
];
