#!/usr/bin/env node
import 'reflect-metadata';
import { Command } from 'commander';
import { cardCommand } from './card.command.js';
import { checkCommand } from './check.command.js';
import { type Config, environment, loadConfig, packageVersion } from './config/index.js';
import { eraseCommand } from './erase.command.js';
import { keysCommand } from './keys.command.js';
import { migrateCommand } from './migrate.command.js';
import { schemaCommand } from './schema.command.js';
import { knownFailure } from './start.failure.js';

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
for (const command of [migrateCommand, keysCommand, cardCommand, checkCommand, schemaCommand, eraseCommand]) {
  parley.addCommand(command(settings));
}

try {
  await parley.parseAsync();
} catch (error) {
  const { message } = error as Error;
  process.stderr.write(`${knownFailure(error as Error, config) ?? message}\n`);
  process.exitCode = 1;
}
