import { Body, Controller, Get, Header, Put, UseGuards } from '@nestjs/common';
import { z } from 'zod';
import { PinoLogger } from '../telemetry/index.js';
import { readBody } from './operator.body.js';
import { OperatorGuard } from './operator.guard.js';

const LogRequest = z.strictObject({
  level: z.enum(['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace']),
});
type Log = z.output<typeof LogRequest>;

/** `GET` and `PUT /operator/log`: the least important level that this replica logs, until it is started again. */
@Controller('operator/log')
@UseGuards(OperatorGuard)
export class LogController {
  constructor(private readonly logger: PinoLogger) {}

  @Get()
  @Header('Cache-Control', 'no-store')
  read(): Log {
    return { level: this.logger.level };
  }

  @Put()
  @Header('Cache-Control', 'no-store')
  change(@Body() body: unknown): Log {
    const { level } = readBody(LogRequest, body);
    this.logger.level = level;
    return { level };
  }
}
