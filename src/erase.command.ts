import { NestFactory } from '@nestjs/core';
import { Command } from 'commander';
import { AUTH_ENTITIES, AuditLog, AuthModule, operatorNamed } from './auth/index.js';
import { type Config, ConfigModule } from './config/index.js';
import { DatabaseModule } from './database/index.js';
import { withDatabase } from './database.session.js';
import {
  type ErasureReceipt,
  ErasureStore,
  type ErasureSubject,
  TASK_ENTITIES,
  TasksModule,
} from './tasks/index.js';

/** `parley erase`: takes all data of a caller away and prints the receipt. */
export function eraseCommand(settings: () => Config): Command {
  return new Command('erase')
    .description("Remove a caller's tasks, messages, artifacts and push configs, and print the receipt")
    .requiredOption('--subject <text>', 'the caller')
    .option('--organisation <text>', 'the organisation of the caller', '')
    .option('--by <text>', 'who asks for it', 'operator')
    .action(async ({ by, ...subject }: ErasureSubject & { by: string }) => {
      const receipt = await withDatabase(settings(), (config) => erase(config, subject, by));
      process.stdout.write(`${JSON.stringify(receipt, undefined, 2)}\n`);
    });
}

async function erase(config: Config, subject: ErasureSubject, by: string): Promise<ErasureReceipt> {
  const entities = [...TASK_ENTITIES, ...AUTH_ENTITIES];
  const imports = [ConfigModule.with(config), DatabaseModule.with(entities), TasksModule, AuthModule];
  const context = { module: class ErasureModule {}, imports };
  const app = await NestFactory.createApplicationContext(context, { logger: false, abortOnError: false });
  try {
    const receipt = await app.get(ErasureStore, { strict: false }).erase(subject, by);
    const audit = app.get(AuditLog, { strict: false });
    audit.record({ act: 'erase', principal: operatorNamed(by), receiptId: receipt.id });
    return receipt;
  } finally {
    await app.close();
  }
}
