import type { AddressInfo } from 'node:net';
import type { LoggerService } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { AppModule } from './app.module.js';
import { Config, publicUrl } from './config/index.js';
import { EmbeddedPostgres } from './database/index.js';
import { Readiness } from './health/index.js';

/** A service that answers. */
export interface Service {
  /** Base URL of HTTP, where it listens. */
  readonly httpUrl: string;
  /** `host:port` of gRPC, where it listens. */
  readonly grpcAddress: string;
  /** Where the data lies, in words and without a password. */
  readonly data: string;
  /** Stops being ready, lets running work end, closes everything. Never rejects. */
  stop(): Promise<void>;
}

/** Starts everything step by step; whatever fails is thrown after what had been started is undone. */
export async function startService(given: Config, logger: LoggerService): Promise<Service> {
  const undo: (() => Promise<unknown>)[] = [];
  const stop = async () => {
    for (const step of undo.splice(0).reverse()) {
      await step().catch((error) => logger.error(error, 'stop'));
    }
  };
  try {
    const embedded = given.databaseUrl ? undefined : await EmbeddedPostgres.start(given.dataDir);
    if (embedded) undo.push(() => embedded.stop());
    const config = embedded ? new Config({ ...given, databaseUrl: embedded.url }) : given;
    const app = await createApplication(config, logger);
    undo.push(() => app.close());
    const addresses = await listen(app, config);
    undo.push(async () => app.get(Readiness).drain());
    const data = embedded ? `${embedded.folder} (embedded Postgres)` : `Postgres at ${place(config)}`;
    return { ...addresses, data, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function createApplication(config: Config, logger: LoggerService): Promise<NestFastifyApplication> {
  const adapter = new FastifyAdapter({ forceCloseConnections: true });
  const options = { logger, abortOnError: false, bodyParser: false };
  return NestFactory.create<NestFastifyApplication>(AppModule.with(config), adapter, options);
}

async function listen(app: NestFastifyApplication, config: Config) {
  await app.listen(config.httpPort, config.host);
  const { port } = app.getHttpServer().address() as AddressInfo;
  const httpUrl = publicUrl({ ...config, publicUrl: undefined }, port);
  return { httpUrl, grpcAddress: '' };
}

/** Host and database, without user and password. */
function place({ databaseUrl = '' }: Config): string {
  const { host, pathname } = new URL(databaseUrl);
  return host + pathname;
}
