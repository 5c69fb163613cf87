import { Module } from '@nestjs/common';
import { Config } from '../config/index.js';
import { Postgres } from '../database/index.js';
import { TasksModule } from '../tasks/index.js';
import { PostgresPushStore } from './postgres-push.store.js';
import { PushService } from './push.service.js';
import { PushStore } from './push.store.js';

/** A slice, one try that had begun in it, and time for the report. */
const SLACK_MS = 10_000;

@Module({
  imports: [TasksModule],
  providers: [
    PushService,
    {
      provide: PushStore,
      inject: [Postgres, Config],
      useFactory: (postgres: Postgres, { pushTimeoutMs }: Config) =>
        new PostgresPushStore(postgres, pushTimeoutMs + SLACK_MS),
    },
  ],
  exports: [PushService, PushStore],
})
export class PushModule {}
