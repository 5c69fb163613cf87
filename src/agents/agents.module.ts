import { Module } from '@nestjs/common';
import { Config } from '../config/index.js';
import { AgentRegistry } from './agent.definition.js';
import { BuiltInAgents } from './built-in.agents.js';

@Module({
  providers: [
    { provide: AgentRegistry, useFactory: (config: Config) => new BuiltInAgents(config), inject: [Config] },
  ],
  exports: [AgentRegistry],
})
export class AgentsModule {}
