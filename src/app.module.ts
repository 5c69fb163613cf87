import { type DynamicModule, Module } from '@nestjs/common';
import { A2AModule } from './a2a/index.js';
import { AgentsModule } from './agents/index.js';
import { AUTH_ENTITIES, AuthModule } from './auth/index.js';
import { CardsModule } from './cards/index.js';
import { type Config, ConfigModule } from './config/index.js';
import { DatabaseModule } from './database/index.js';
import { HealthModule } from './health/index.js';
import { MessagingModule } from './messaging/index.js';
import { OperatorModule } from './operator/index.js';
import { TASK_ENTITIES, TasksModule } from './tasks/index.js';
import { type PinoLogger, TelemetryModule } from './telemetry/index.js';

/** The whole service. */
@Module({})
export class AppModule {
  static with(config: Config, logger: PinoLogger): DynamicModule {
    return {
      module: AppModule,
      imports: [
        ConfigModule.with(config),
        TelemetryModule.with(logger),
        DatabaseModule.with([...TASK_ENTITIES, ...AUTH_ENTITIES]),
        HealthModule,
        AuthModule,
        AgentsModule,
        TasksModule,
        MessagingModule,
        CardsModule,
        A2AModule,
        OperatorModule,
      ],
    };
  }
}
