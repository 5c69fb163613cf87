#!/usr/bin/env node
import 'reflect-metadata';
import { Command } from 'commander';
import { type Config, environment, loadConfig, packageVersion } from './config/index.js';

/** `npx parley`: what an operator does beside running the service, with the same settings as the service. */
const parley = new Command('parley')
  .description('Operate Parley. The service itself is started by npm start.')
  .version(packageVersion())
  .option('--config <file>', 'YAML file with settings [env: PARLEY_CONFIG]');

let config: Config | undefined;
const settings = () => {
  const { config: file } = parley.opts<{ config?: string }>();
  config = loadConfig(environment, file === undefined ? [] : ['--config', file]);
  return config;
};
/** Most of them need half of the service: only what is asked for is loaded. */
const COMMANDS: Record<string, () => Promise<(settings: () => Config) => Command>> = {
  migrate: async () => (await import('./migrate.command.js')).migrateCommand,
  keys: async () => (await import('./keys.command.js')).keysCommand,
  card: async () => (await import('./card.command.js')).cardCommand,
  check: async () => (await import('./check.command.js')).checkCommand,
  schema: async () => (await import('./schema.command.js')).schemaCommand,
  erase: async () => (await import('./erase.command.js')).eraseCommand,
};
const asked = Object.keys(COMMANDS).filter((name) => process.argv.includes(name));
for (const name of asked.length > 0 ? asked : Object.keys(COMMANDS)) {
  parley.addCommand((await COMMANDS[name]!())(settings));
}

try {
  await parley.parseAsync();
} catch (error) {
  const { message } = error as Error;
  const { knownFailure } = await import('./start.failure.js');
  process.stderr.write(`${knownFailure(error as Error, config) ?? message}\n`);
  process.exitCode = 1;
}
