import { Command } from 'commander';
import { agentJsonSchema } from './agents/index.js';

/** `parley schema`: the JSON Schema of agents in configuration, for editors. */
export function schemaCommand(): Command {
  return new Command('schema')
    .description('Print the JSON Schema of an agent in configuration')
    .action(() => void process.stdout.write(`${JSON.stringify(agentJsonSchema(), null, 2)}\n`));
}
