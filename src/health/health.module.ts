import { Global, Module } from '@nestjs/common';
import { TasksModule } from '../tasks/index.js';
import { HealthController } from './health.controller.js';
import { Readiness } from './readiness.js';

@Global()
@Module({
  imports: [TasksModule],
  controllers: [HealthController],
  providers: [Readiness],
  exports: [Readiness],
})
export class HealthModule {}
