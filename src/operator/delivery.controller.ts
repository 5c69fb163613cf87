import { Body, Controller, Get, Header, HttpCode, Param, Post, Query, Req, UseGuards } from '@nestjs/common';
import { z } from 'zod';
import { AuditLog, operatorNamed } from '../auth/index.js';
import { invalidField } from '../protocol/index.js';
import {
  type DeliveryFilter,
  type DeliveryRow,
  type FailingHost,
  PushStore,
  type Redelivery,
} from '../push/index.js';
import { readBody, text } from './operator.body.js';
import { OperatorGuard, type OperatorRequest } from './operator.guard.js';

const PAGE_SIZE = 50;
/** Visible ASCII without `/` and `@`. */
const HOST = /^[\x21-\x2e\x30-\x3f\x41-\x7e]{1,260}$/;

const DeliveryQuery = z.strictObject({
  agent: text(63).optional(),
  state: z.enum(['open', 'done', 'dead']).optional(),
  task: z.uuid().optional(),
  host: text(260).optional(),
  pageSize: z.coerce.number().int().min(1).max(500).default(PAGE_SIZE),
  pageToken: z.string().optional(),
});

/** What to send again: what a task, one of its configs or the dead ones of a host did not get. */
const RedeliveryRequest = z.union([
  z.strictObject({ taskId: z.uuid(), configId: text(200).optional(), after: z.int().min(0).optional() }),
  z.strictObject({ host: z.string().regex(HOST) }),
]);

/** Push deliveries: what became of each config, and to try again. */
@Controller('operator/deliveries')
@UseGuards(OperatorGuard)
export class DeliveryController {
  constructor(
    private readonly store: PushStore,
    private readonly audit: AuditLog,
  ) {}

  /** Those of the newest task first. Shows neither tokens nor credentials. */
  @Get()
  @Header('Cache-Control', 'no-store')
  async list(
    @Query() query: unknown,
  ): Promise<{ deliveries: readonly DeliveryRow[]; nextPageToken: string }> {
    const { task, pageSize, pageToken, ...filter } = readBody(DeliveryQuery, query);
    const after = pageToken === undefined ? undefined : open(pageToken);
    const rows = await this.store.deliveries({ ...filter, taskId: task, after, limit: pageSize + 1 });
    const deliveries = rows.slice(0, pageSize);
    return { deliveries, nextPageToken: rows.length > pageSize ? seal(deliveries.at(-1)!) : '' };
  }

  /** Begins at what was not delivered, or after the given event of the log. Answers how many configs. */
  @Post('redeliver')
  @HttpCode(200)
  async redeliver(
    @Body() body: unknown,
    @Req() { operator }: OperatorRequest,
  ): Promise<{ redelivered: number }> {
    const what: Redelivery = readBody(RedeliveryRequest, body);
    const redelivered = await this.store.redeliver(what);
    const { taskId, configId, host } = what;
    const principal = operatorNamed(operator);
    this.audit.record({ act: 'push.redelivered', principal, taskId, configId, host });
    return { redelivered };
  }
}

/** Hosts (`host:port`) that pushes go to. What is due for a paused one waits and is not counted as tried. */
@Controller('operator/receivers')
@UseGuards(OperatorGuard)
export class ReceiverController {
  constructor(
    private readonly store: PushStore,
    private readonly audit: AuditLog,
  ) {}

  /** `paused`: by operators. `failing`: because they keep failing, until a probe succeeds or an operator resumes them. */
  @Get('paused')
  @Header('Cache-Control', 'no-store')
  async paused(): Promise<{ paused: readonly string[]; failing: readonly FailingHost[] }> {
    return { paused: await this.store.paused(), failing: await this.store.failing() };
  }

  @Post(':host/pause')
  @HttpCode(204)
  async pause(@Param('host') given: string, @Req() { operator }: OperatorRequest): Promise<void> {
    const host = checked(given);
    await this.store.pause(host);
    this.audit.record({ act: 'push.paused', principal: operatorNamed(operator), host });
  }

  @Post(':host/resume')
  @HttpCode(204)
  async resume(@Param('host') given: string, @Req() { operator }: OperatorRequest): Promise<void> {
    const host = checked(given);
    await this.store.resume(host);
    this.audit.record({ act: 'push.resumed', principal: operatorNamed(operator), host });
  }
}

function checked(host: string): string {
  if (!HOST.test(host)) throw invalidField('host', 'must be a host or host:port');
  return host.toLowerCase();
}

const Position = z.tuple([z.uuid(), text(200)]);

function seal({ taskId, configId }: DeliveryRow): string {
  return Buffer.from(JSON.stringify([taskId, configId])).toString('base64url');
}

function open(token: string): DeliveryFilter['after'] {
  try {
    const [taskId, id] = Position.parse(JSON.parse(Buffer.from(token, 'base64url').toString()));
    return { taskId, id };
  } catch {
    throw invalidField('pageToken', 'is not a token of this list');
  }
}
