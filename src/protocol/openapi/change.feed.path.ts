import type { JsonObject } from '@bufbuild/protobuf';
import { TaskSchema } from '../gen/a2a_pb.js';
import type { MessageSchemas } from './message.schemas.js';
import { errorResponses } from './openapi.errors.js';

const whole = (minimum: number, more: JsonObject = {}) => ({ type: 'integer', minimum, ...more });
const query = (name: string, description: string, schema: JsonObject): JsonObject => ({
  ...{ name, in: 'query', description, schema },
});

const PARAMETERS = [
  query('after', 'The cursor of the page before; without it from the first task on.', { type: 'string' }),
  query(
    'wait',
    'Seconds to wait for a change when there is none yet.',
    whole(0, { maximum: 60, default: 0 }),
  ),
  query('pageSize', 'Most tasks of a page.', whole(1, { maximum: 100, default: 50 })),
  query('historyLength', 'Most messages of the history of each task.', whole(0, { default: 0 })),
  query('includeArtifacts', 'With the artifacts of each task.', { type: 'boolean', default: false }),
];

/** The Path Item Object of the change feed, an extension beside the routes of the proto, at addresses of its own. */
export function changeFeedPath(servers: readonly JsonObject[], schemas: MessageSchemas): JsonObject {
  const page = {
    type: 'object',
    properties: {
      tasks: { type: 'array', items: schemas.of(TaskSchema) },
      cursor: { type: 'string', description: 'Where the next page goes on' },
    },
    required: ['tasks', 'cursor'],
  };
  return {
    servers: [...servers],
    get: {
      operationId: 'changes',
      tags: ['Tasks'],
      summary: "The caller's tasks whose status changed, in the order of the changes",
      description: 'The page `/extensions/change-feed/v1` says how to read it.',
      parameters: [...PARAMETERS, { $ref: '#/components/parameters/Version' }],
      responses: {
        '200': { description: 'The answer', content: { 'application/json': { schema: page } } },
        ...errorResponses(''),
      },
    },
  };
}
