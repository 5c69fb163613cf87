import { Module } from '@nestjs/common';
import { Config } from '../config/index.js';
import { Postgres } from '../database/index.js';
import { AgentRegistry } from './agent.definition.js';
import { BackEnds } from './backends/back.ends.js';
import { CallbackController } from './backends/callback.controller.js';
import { Callbacks } from './backends/callbacks.js';
import { PostgresCallbacks } from './backends/postgres-callbacks.js';
import { LiveAgents } from './live.agents.js';
import { SchemaController } from './schema.controller.js';

@Module({
  controllers: [CallbackController, SchemaController],
  providers: [
    {
      provide: Callbacks,
      // There is none where agents and cards are only checked.
      inject: [{ token: Postgres, optional: true }],
      useFactory: (postgres?: Postgres) => new PostgresCallbacks(postgres),
    },
    {
      provide: AgentRegistry,
      inject: [Config, Callbacks],
      useFactory: (config: Config, callbacks: Callbacks) => LiveAgents.load(config, new BackEnds(callbacks)),
    },
  ],
  exports: [AgentRegistry, Callbacks],
})
export class AgentsModule {}
