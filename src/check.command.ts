import { NestFactory } from '@nestjs/core';
import { Command } from 'commander';
import { CardsModule } from './cards/index.js';
import { type Config, ConfigModule } from './config/index.js';
import { migrationStates } from './database/index.js';

/** `parley check`: whether the service would start, without starting it. */
export function checkCommand(settings: () => Config): Command {
  return new Command('check')
    .description('Check settings, agents, cards and the database without starting the service')
    .action(async () => {
      const config = settings();
      await checkCards(config);
      const lines = [
        `Settings, ${config.agents.length} agents and their cards are right`,
        await database(config),
      ];
      process.stdout.write(`${lines.join('\n')}\n`);
    });
}

/** Cards are checked when their module starts. @throws InvalidCards, ConfigError */
async function checkCards(config: Config): Promise<void> {
  const context = await NestFactory.createApplicationContext(
    { module: class Check {}, imports: [ConfigModule.with(config), CardsModule] },
    { logger: false, abortOnError: false },
  );
  await context.close();
}

async function database({ databaseUrl, dataDir }: Config): Promise<string> {
  if (!databaseUrl) return `The database is an embedded Postgres in ${dataDir}`;
  const pending = (await migrationStates(databaseUrl)).filter(({ state }) => state === 'pending');
  return `The database answers; ${pending.length} migrations are pending`;
}
