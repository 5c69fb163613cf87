import { hostname } from 'node:os';
import { Module, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Config } from '../config/index.js';
import { Postgres, SecretCipher } from '../database/index.js';
import { observe } from '../telemetry/index.js';
import { Clock, Ids, SystemClock, TimeOrderedIds } from './clock.js';
import { ErasureStore } from './erasure.store.js';
import { EventBus } from './event.bus.js';
import { PageTokens } from './page.token.js';
import { PostgresErasureStore } from './postgres-erasure.store.js';
import { PostgresEventBus } from './postgres-event.bus.js';
import { PostgresRetentionStore } from './postgres-retention.store.js';
import { PAGE_SECRET } from './postgres-task.sql.js';
import { PostgresTaskStore } from './postgres-task.store.js';
import { PostgresWaitLog } from './postgres-wait.log.js';
import { PostgresWaitingStore } from './postgres-waiting.store.js';
import { PushSignal } from './push.signal.js';
import { RetentionStore } from './retention.store.js';
import { TaskFeed } from './task.feed.js';
import { TaskStore } from './task.store.js';
import { WaitLog } from './wait.log.js';
import { WaitingStore } from './waiting.store.js';

/** Tells this replica from all others, also from itself before a restart. Without spaces. */
class ReplicaName {
  constructor(readonly value: string) {}
}

@Module({
  providers: [
    PushSignal,
    { provide: Clock, useClass: SystemClock },
    { provide: Ids, useClass: TimeOrderedIds },
    { provide: WaitingStore, useClass: PostgresWaitingStore },
    {
      provide: ReplicaName,
      inject: [Ids],
      useFactory: (ids: Ids) => new ReplicaName(`${hostname()}/${ids.next()}`),
    },
    {
      provide: TaskStore,
      inject: [Postgres, Config, ReplicaName, PushSignal],
      useFactory: (
        postgres: Postgres,
        { leaseMs, pushKeys }: Config,
        { value }: ReplicaName,
        push: PushSignal,
      ) =>
        new PostgresTaskStore(postgres, {
          holder: value,
          leaseMs,
          cipher: pushKeys.length > 0 ? new SecretCipher(pushKeys) : undefined,
          onPush: (taskId) => push.raise(taskId),
        }),
    },
    {
      provide: RetentionStore,
      inject: [Postgres],
      useFactory: (postgres: Postgres) => new PostgresRetentionStore(postgres),
    },
    {
      provide: WaitLog,
      inject: [Postgres],
      useFactory: (postgres: Postgres) => new PostgresWaitLog(postgres),
    },
    {
      provide: ErasureStore,
      inject: [Postgres],
      useFactory: (postgres: Postgres) => new PostgresErasureStore(postgres),
    },
    {
      provide: EventBus,
      inject: [Config, Postgres, ReplicaName],
      useFactory: async ({ eventsUrl }: Config, postgres: Postgres, { value }: ReplicaName) => {
        if (!eventsUrl) return new PostgresEventBus(postgres, value);
        const { NatsEventBus } = await import('./nats-event.bus.js');
        return new NatsEventBus(eventsUrl, value);
      },
    },
    {
      provide: TaskFeed,
      inject: [TaskStore, EventBus],
      useFactory: (store: TaskStore, bus: EventBus) => new TaskFeed(store, bus),
    },
    {
      provide: PageTokens,
      inject: [Postgres],
      useFactory: async (postgres: Postgres) => {
        const { rows } = await postgres.query<{ value: string }>({ text: PAGE_SECRET });
        return new PageTokens(rows[0]!.value);
      },
    },
  ],
  exports: [
    PushSignal,
    Clock,
    Ids,
    WaitingStore,
    WaitLog,
    TaskStore,
    RetentionStore,
    ErasureStore,
    EventBus,
    TaskFeed,
    PageTokens,
  ],
})
export class TasksModule implements OnApplicationBootstrap, OnApplicationShutdown {
  constructor(
    private readonly bus: EventBus,
    private readonly postgres: Postgres,
  ) {}

  onApplicationBootstrap(): Promise<void> {
    const { pool } = this.postgres;
    observe('a2a.server.database.connections', (tell) => {
      tell(pool.totalCount - pool.idleCount, { state: 'used' });
      tell(pool.idleCount, { state: 'idle' });
      tell(pool.waitingCount, { state: 'waiting' });
    });
    observe('a2a.server.hints.connected', (tell) => tell(Number(this.bus.connected), {}));
    return this.bus.start();
  }

  onApplicationShutdown(): Promise<void> {
    return this.bus.stop();
  }
}
