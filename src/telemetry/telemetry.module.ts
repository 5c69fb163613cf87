import { type DynamicModule, Global, Module } from '@nestjs/common';
import { PinoLogger } from './pino.logger.js';

/** The process's log, for those who change its level. */
@Global()
@Module({})
export class TelemetryModule {
  static with(logger: PinoLogger): DynamicModule {
    const provider = { provide: PinoLogger, useValue: logger };
    return { module: TelemetryModule, providers: [provider], exports: [provider] };
  }
}
