import { Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Faults } from '../../src/a2a/faults.js';
import { configureHttp, httpAdapter } from '../../src/a2a/index.js';
import type { Config } from '../../src/config/index.js';

/** The module behind the service's own HTTP server, on a free port. Close it after. */
export async function listen(module: Type, config: Config): Promise<NestFastifyApplication> {
  @Module({ imports: [module], providers: [Faults] })
  class UnderTest {}
  const options = { logger: false, bodyParser: false } as const;
  const app = await NestFactory.create<NestFastifyApplication>(UnderTest, httpAdapter(config), options);
  configureHttp(app, config);
  await app.listen(0, '127.0.0.1');
  return app;
}
