import { hostname } from 'node:os';
import { Module } from '@nestjs/common';
import { Config } from '../config/index.js';
import { Postgres } from '../database/index.js';
import { Clock, Ids, SystemClock, TimeOrderedIds } from './clock.js';
import { PageTokens } from './page.token.js';
import { PAGE_SECRET } from './postgres-task.sql.js';
import { PostgresTaskStore } from './postgres-task.store.js';
import { TaskFeed } from './task.feed.js';
import { TaskStore } from './task.store.js';

@Module({
  providers: [
    { provide: Clock, useClass: SystemClock },
    { provide: Ids, useClass: TimeOrderedIds },
    {
      provide: TaskStore,
      inject: [Postgres, Config, Ids],
      useFactory: (postgres: Postgres, { leaseMs }: Config, ids: Ids) =>
        new PostgresTaskStore(postgres, { holder: `${hostname()}/${ids.next()}`, leaseMs }),
    },
    { provide: TaskFeed, inject: [TaskStore], useFactory: (store: TaskStore) => new TaskFeed(store) },
    {
      provide: PageTokens,
      inject: [Postgres],
      useFactory: async (postgres: Postgres) => {
        const { rows } = await postgres.query<{ value: string }>({ text: PAGE_SECRET });
        return new PageTokens(rows[0]!.value);
      },
    },
  ],
  exports: [Clock, Ids, TaskStore, TaskFeed, PageTokens],
})
export class TasksModule {}
