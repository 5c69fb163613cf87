import { type DynamicModule, Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { Config } from '../config/index.js';
import { runMigrations } from './migration.runner.js';
import { MIGRATIONS } from './migrations/index.js';
import { Postgres } from './postgres.js';

export type EntityClass = new () => object;

/** TypeORM is for entities, migrations and what is not hot, so it gets by with few connections. */
const TYPEORM_POOL = 2;

function dataSourceOptions(url: string, entities: EntityClass[]): DataSourceOptions {
  return {
    type: 'postgres',
    url,
    entities,
    migrations: [...MIGRATIONS],
    synchronize: false,
    applicationName: 'parley typeorm',
    poolSize: TYPEORM_POOL,
  };
}

/** Migrates the database at start, then provides TypeORM's `DataSource` with the entities, and {@link Postgres}. */
@Global()
@Module({})
export class DatabaseModule {
  static with(entities: EntityClass[]): DynamicModule {
    const typeorm = TypeOrmModule.forRootAsync({
      inject: [Config],
      useFactory: ({ databaseUrl }: Config) => ({
        ...dataSourceOptions(databaseUrl ?? '', entities),
        autoLoadEntities: false,
        // Whoever starts the service is told once, in words; Nest would tell it before, with a stack.
        toRetry: () => false,
      }),
      dataSourceFactory: async (options) => {
        const dataSource = await new DataSource(options as DataSourceOptions).initialize();
        await runMigrations(dataSource, (options as { url: string }).url, { breaking: false });
        return dataSource;
      },
    });
    // It waits for the data source, so that whoever is given it finds the tables in place.
    const postgres = {
      provide: Postgres,
      inject: [Config, DataSource],
      useFactory: (config: Config) => new Postgres(config),
    };
    return {
      module: DatabaseModule,
      imports: [typeorm],
      providers: [postgres],
      exports: [Postgres, typeorm],
    };
  }
}
