import { NestFactory } from '@nestjs/core';
import { Command } from 'commander';
import { z } from 'zod';
import { type ApiKey, ApiKeys, AUTH_ENTITIES, AuthModule, NewApiKey } from './auth/index.js';
import { type Config, ConfigModule, SCOPES } from './config/index.js';
import { DatabaseModule } from './database/index.js';
import { withDatabase } from './database.session.js';

/** `parley keys create|list|revoke`, for who has the database but no operator's token. */
export function keysCommand(settings: () => Config): Command {
  const keys = new Command('keys').description('Create, list and revoke API keys');
  const print = (text: string) => void process.stdout.write(`${text}\n`);
  keys
    .command('create')
    .description('Create a key and show it, this once')
    .requiredOption('--name <text>', 'what it is for')
    .requiredOption('--organisation <text>', 'whom it belongs to')
    .requiredOption('--scopes <scope...>', `some of ${SCOPES.join(', ')}`)
    .option('--subject <text>', 'who its caller is; a caller of its own otherwise')
    .option('--agents <agent...>', 'the only agents it is good for')
    .option('--acts-for-others', 'may name another subject in Parley-Subject')
    .option('--expires-at <time>', 'a time such as 2027-01-31T00:00:00Z')
    .action(async (options) => {
      const wanted = NewApiKey.safeParse(options);
      if (!wanted.success) return keys.error(z.prettifyError(wanted.error));
      const config = settings();
      const { text } = await withKeys(config, (all) => all.make(wanted.data));
      print(text);
      if (!config.apiKeys) process.stderr.write('The service accepts keys with PARLEY_API_KEYS=true alone\n');
    });
  keys
    .command('list')
    .description('List keys, newest first')
    .option('--organisation <text>', 'of this one only')
    .action(async (filter) => {
      for (const key of await withKeys(settings(), (all) => all.list(filter))) print(lineOf(key));
    });
  keys
    .command('revoke <id>')
    .description('Refuse a key from now on')
    .action((id) => withKeys(settings(), (all) => all.revoke(id)));
  return keys;
}

function withKeys<T>(given: Config, work: (keys: ApiKeys) => Promise<T>): Promise<T> {
  return withDatabase(given, async (config) => {
    const imports = [ConfigModule.with(config), DatabaseModule.with(AUTH_ENTITIES), AuthModule];
    const context = await NestFactory.createApplicationContext(
      { module: class Keys {}, imports },
      { logger: false, abortOnError: false },
    );
    try {
      return await work(context.get(ApiKeys));
    } finally {
      await context.close();
    }
  });
}

function lineOf({ id, organisation, subject, scopes, name, revokedAt, expiresAt }: ApiKey): string {
  const state = revokedAt ? 'revoked' : expiresAt && expiresAt <= new Date() ? 'expired' : 'valid';
  return [id, state, organisation, subject, scopes.join(' '), name].join('\t');
}
