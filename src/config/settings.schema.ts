import { z } from 'zod';
import { defaultOf, SETTING_LIST } from './settings.js';

type JsonSchema = Record<string, unknown>;

/**
 * The JSON Schema of the YAML file that `PARLEY_CONFIG` names, for editors.
 *
 * @param agent the schema of an agent that is described in the list `agents`
 */
export function settingsJsonSchema({ definitions, ...agent }: JsonSchema): JsonSchema {
  const properties = SETTING_LIST.map(([name, setting]) => {
    const { $schema: _, ...schema } = z.toJSONSchema(setting.schema, {
      io: 'output',
      target: 'draft-7',
      unrepresentable: 'any',
    });
    const description = `${setting.text} (${setting.type}; default: ${defaultOf(setting)})`;
    return [name, { ...schema, description }] as const;
  });
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Parley settings',
    type: 'object',
    additionalProperties: false,
    properties: {
      ...Object.fromEntries(properties),
      agents: { type: 'array', items: { anyOf: [{ type: 'string' }, agent] } },
    },
    definitions,
  };
}
