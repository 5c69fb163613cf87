import { Argument, Command } from 'commander';
import { agentJsonSchema } from './agents/index.js';
import { settingsJsonSchema } from './config/index.js';

const SCHEMAS = {
  agent: agentJsonSchema,
  settings: () => settingsJsonSchema(agentJsonSchema()),
};

/** `parley schema`: the JSON Schemas of what operators write, for editors. */
export function schemaCommand(): Command {
  return new Command('schema')
    .description('Print the JSON Schema of an agent in configuration, or of the file of settings')
    .addArgument(new Argument('[of]').choices(Object.keys(SCHEMAS)).default('agent'))
    .action((of: keyof typeof SCHEMAS) => {
      process.stdout.write(`${JSON.stringify(SCHEMAS[of](), null, 2)}\n`);
    });
}
