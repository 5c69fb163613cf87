import { Controller, Get, Header, HttpException } from '@nestjs/common';
import { EventBus } from '../tasks/index.js';
import { Readiness } from './readiness.js';

/** For whoever restarts the service (live) or sends it requests (ready). */
@Controller('health')
export class HealthController {
  constructor(
    private readonly readiness: Readiness,
    private readonly bus: EventBus,
  ) {}

  /** 200 as long as the process answers at all. */
  @Get('live')
  @Header('Cache-Control', 'no-store')
  live() {
    return { status: 'live' };
  }

  /** 200 once the service has been ready: until then a slow start is no reason to start it again. */
  @Get('startup')
  @Header('Cache-Control', 'no-store')
  async startup() {
    if (!this.readiness.wasReady && (await this.readiness.state()) !== 'ready') {
      throw new HttpException({ status: 'starting' }, 503);
    }
    return { status: 'started' };
  }

  /**
   * 200 when requests are welcome; 503 with the reason while the database is away or takes no writes, or the
   * service drains.
   * `hints` of other replicas only save time, so that being without them does not keep requests away.
   */
  @Get('ready')
  @Header('Cache-Control', 'no-store')
  async ready() {
    const status = await this.readiness.state();
    if (status !== 'ready') throw new HttpException({ status }, 503);
    return { status, hints: this.bus.connected ? 'connected' : 'reconnecting' };
  }
}
