import type { DescField, JsonObject } from '@bufbuild/protobuf';
import type { MessageSchemas } from './message.schemas.js';
import { errorResponses } from './openapi.errors.js';
import type { OpenApiRoute } from './openapi.route.js';

/** What a version's HTTP+JSON binding writes. */
export const MEDIA_TYPES = { '1.0': 'application/a2a+json', '0.3': 'application/json' } as const;

/** Each operation belongs to the first group whose pattern it matches. */
const GROUPS = [
  ['Push notifications', /PushNotification/, 'Webhooks that hear of a task'],
  ['Messages', /Message/, 'Saying something to an agent'],
  ['Tasks', /Task/, 'Reading, following and stopping what came of it'],
  ['Card', /Card/, 'What the agent is and can do'],
] as const;

const FRAMES =
  'Server-sent events. Each `data:` line is one StreamResponse in JSON, `id:` is the number of the event in its task, and a comment comes while nothing happens.';

/** The Tag Object of a route. */
export function tagOf({ operation, version }: OpenApiRoute): { name: string; description: string } {
  const [name, , description] = GROUPS.find(([, pattern]) => pattern.test(operation))!;
  return { name: version === '1.0' ? name : `${name} (A2A 0.3)`, description };
}

/** The Operation Object of a route. */
export function operationOf(
  route: OpenApiRoute,
  schemas: MessageSchemas,
  comments: ReadonlyMap<string, string>,
): JsonObject {
  const [, text = route.rpc, section] =
    /^(.*?)(?: \(([\d.]+)\))?\.?$/.exec(comments.get(route.rpc) ?? '') ?? [];
  return {
    operationId: route.id,
    tags: [tagOf(route).name],
    summary: text || route.rpc,
    description: section
      ? `\`${route.rpc}\` of A2A ${route.version}, section ${section} of its specification.`
      : `\`${route.rpc}\` of A2A ${route.version}.`,
    parameters: [...parametersOf(route, schemas)],
    ...bodyOf(route, schemas),
    responses: { '200': answerOf(route, schemas), ...errorResponses(route.version === '1.0' ? '' : 'V03') },
  };
}

function* parametersOf(route: OpenApiRoute, schemas: MessageSchemas): Iterable<JsonObject> {
  for (const name of route.pathParameters) {
    yield { name, in: 'path', required: true, schema: { type: 'string' } };
  }
  if (route.body === '') {
    for (const field of route.input.fields.filter(({ name }) => !route.inPath.includes(name))) {
      yield { name: field.jsonName, in: 'query', schema: schemas.field(field) };
    }
  }
  const isCurrent = route.version === '1.0';
  yield { $ref: `#/components/parameters/${isCurrent ? 'Version' : 'V03Version'}` };
  yield { $ref: `#/components/parameters/${isCurrent ? 'Extensions' : 'V03Extensions'}` };
  if (route.operation === 'subscribeToTask') yield { $ref: '#/components/parameters/LastEventId' };
}

function bodyOf({ body, input, inPath, version }: OpenApiRoute, schemas: MessageSchemas): JsonObject {
  if (body === '') return {};
  const part = input.fields.find(({ name }) => name === body);
  const schema = part ? schemas.field(part) : wholeBody(input, inPath, schemas);
  const required = part !== undefined || 'required' in schema || '$ref' in schema;
  return { requestBody: { required, content: { [MEDIA_TYPES[version]]: { schema } } } };
}

/** What is in the path need not be in the body as well. */
function wholeBody(
  input: OpenApiRoute['input'],
  inPath: readonly string[],
  schemas: MessageSchemas,
): JsonObject {
  const isNamed = (field: DescField) => inPath.includes(field.name);
  return input.fields.some(isNamed) ? schemas.fields(input, inPath) : schemas.of(input);
}

function answerOf({ output, isStream, version, reply }: OpenApiRoute, schemas: MessageSchemas): JsonObject {
  if (isStream) {
    const schema = {
      type: 'string',
      contentMediaType: 'text/event-stream',
      contentSchema: schemas.of(output),
    };
    return { description: FRAMES, content: { 'text/event-stream': { schema } } };
  }
  const schema = reply?.((desc) => schemas.of(desc)) ?? schemas.of(output);
  return { description: 'The answer', content: { [MEDIA_TYPES[version]]: { schema } } };
}
