import { type DynamicModule, Module } from '@nestjs/common';
import { AgentsModule } from './agents/index.js';
import { AuthModule } from './auth/index.js';
import { CardsModule } from './cards/index.js';
import { type Config, ConfigModule } from './config/index.js';
import { DatabaseModule } from './database/index.js';
import { HealthModule } from './health/index.js';
import { TasksModule } from './tasks/index.js';

/** The whole service. */
@Module({})
export class AppModule {
  static with(config: Config): DynamicModule {
    return {
      module: AppModule,
      imports: [
        ConfigModule.with(config),
        DatabaseModule.with([]),
        HealthModule,
        AuthModule,
        AgentsModule,
        TasksModule,
        CardsModule,
      ],
    };
  }
}
