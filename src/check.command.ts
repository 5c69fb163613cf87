import { NestFactory } from '@nestjs/core';
import { Command } from 'commander';
import { TlsFiles } from './a2a/index.js';
import { AgentRegistry } from './agents/index.js';
import { CardsModule } from './cards/index.js';
import { type Config, ConfigModule, environment, unknownVariables } from './config/index.js';
import { migrationStates, Postgres } from './database/index.js';

/** `parley check`: whether the service would start, without starting it. */
export function checkCommand(settings: () => Config): Command {
  return new Command('check')
    .description('Check settings, certificates, agents, cards and the database without starting the service')
    .action(async () => {
      const config = settings();
      TlsFiles.load(config)?.stop();
      const agents = await checkCards(config);
      const lines = [`Settings, ${agents} agents and their cards are right`, await database(config)];
      const unknown = unknownVariables(environment).map((name) => `${name} is not a setting and is ignored`);
      process.stdout.write(`${[...lines, ...unknown].join('\n')}\n`);
    });
}

/** Agents and cards are checked when their modules start. How many agents. @throws InvalidCards, ConfigError */
async function checkCards(config: Config): Promise<number> {
  // Who wants it gets it, but none of them asks it anything here: no connection is made.
  const unused = {
    module: class Unused {},
    global: true,
    providers: [{ provide: Postgres, useValue: new Postgres(config) }],
    exports: [Postgres],
  };
  const context = await NestFactory.createApplicationContext(
    { module: class Check {}, imports: [ConfigModule.with(config), unused, CardsModule] },
    { logger: false, abortOnError: false },
  );
  const agents = context.get(AgentRegistry, { strict: false }).list().length;
  await context.close();
  return agents;
}

async function database({ databaseUrl, dataDir }: Config): Promise<string> {
  if (!databaseUrl) return `The database is an embedded Postgres in ${dataDir}`;
  const pending = (await migrationStates(databaseUrl)).filter(({ state }) => state === 'pending');
  return `The database answers; ${pending.length} migrations are pending`;
}
