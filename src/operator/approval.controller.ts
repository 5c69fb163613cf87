import {
  Body,
  Controller,
  Get,
  Header,
  Headers,
  HttpCode,
  type MessageEvent,
  Param,
  Post,
  Query,
  Req,
  Sse,
  SseSignal,
  UseGuards,
} from '@nestjs/common';
import { from, type Observable } from 'rxjs';
import { AuditLog, operatorNamed } from '../auth/index.js';
import { Config } from '../config/index.js';
import { Approvals } from '../messaging/index.js';
import { A2AError, encodeMessageText, invalidField, TaskSchema, TaskState } from '../protocol/index.js';
import { WaitingStore, type WaitingTask } from '../tasks/index.js';
import { ApprovalRequest, StreamRequest, WaitingRequest } from './approval.request.js';
import { ApprovalStream } from './approval.stream.js';
import { readBody } from './operator.body.js';
import { OperatorGuard, type OperatorRequest } from './operator.guard.js';
import { type WaitingEntry, waitingEntry } from './waiting.entry.js';

const TASK_ID = /^[\x21-\x7e]{1,200}$/;

const STATES = {
  TASK_STATE_INPUT_REQUIRED: TaskState.INPUT_REQUIRED,
  TASK_STATE_AUTH_REQUIRED: TaskState.AUTH_REQUIRED,
} as const;

/**
 * `GET /operator/approvals`: the tasks that wait for input or an approval, whoever called; the one that has
 * waited longest first; `/stream`: the same as it changes. `POST /operator/approvals/{taskId}`: answers one of them,
 * and shows it.
 */
@Controller('operator/approvals')
@UseGuards(OperatorGuard)
export class ApprovalController {
  constructor(
    private readonly approvals: Approvals,
    private readonly tasks: WaitingStore,
    private readonly audit: AuditLog,
    private readonly changes: ApprovalStream,
    private readonly config: Config,
  ) {}

  @Get()
  @Header('Cache-Control', 'no-store')
  async list(
    @Query() query: unknown,
  ): Promise<{ readonly waiting: readonly WaitingEntry[]; readonly nextPageToken: string }> {
    const { pageSize, pageToken, state, ...filter } = readBody(WaitingRequest, query);
    const after = pageToken === undefined ? undefined : open(pageToken);
    const found = await this.tasks.waiting({
      ...filter,
      state: state && STATES[state],
      after,
      limit: pageSize + 1,
    });
    const page = found.slice(0, pageSize);
    return {
      waiting: page.map((waiting) => waitingEntry(waiting, this.config.approvalExpiry)),
      nextPageToken: found.length > pageSize ? seal(page.at(-1)!) : '',
    };
  }

  /** Server-sent events; `Last-Event-ID` goes on where the reader stopped. */
  @Sse('stream')
  stream(
    @Query() query: unknown,
    @Headers('last-event-id') lastEventId: string | undefined,
    @SseSignal() signal: AbortSignal,
  ): Observable<MessageEvent> {
    const { state, ...filter } = readBody(StreamRequest, query);
    const last = /^\d{1,15}$/.test(lastEventId ?? '') ? Number(lastEventId) : 0;
    return from(this.changes.events({ ...filter, state: state && STATES[state] }, last, signal));
  }

  @Post(':taskId')
  @HttpCode(200)
  @Header('Content-Type', 'application/json')
  @Header('Cache-Control', 'no-store')
  async approve(
    @Param('taskId') taskId: string,
    @Body() body: unknown,
    @Req() { operator }: OperatorRequest,
  ): Promise<string> {
    if (!TASK_ID.test(taskId)) throw new A2AError('taskNotFound');
    const { answer, since: wait, ...approval } = readBody(ApprovalRequest, body);
    const since = wait === undefined ? undefined : Date.parse(wait);
    // An operator who is known cannot sign as somebody else.
    const by = operator ?? approval.by;
    const task =
      answer === undefined
        ? await this.approvals.resolve(taskId, { ...approval, by }, since)
        : await this.approvals.answer(taskId, { text: answer, by }, since);
    const reason = answer === undefined ? (approval.approved ? 'approved' : 'refused') : 'answered';
    this.audit.record({
      act: 'approval',
      principal: operatorNamed(by),
      taskId,
      reason,
      why: approval.reason,
    });
    return encodeMessageText(TaskSchema, task);
  }
}

/** A place in the list. It grants nothing that the operator does not see anyway, so it is not signed. */
function seal({ since, task }: WaitingTask): string {
  return Buffer.from(`${since}/${task.id}`).toString('base64url');
}

function open(token: string): { since: number; id: string } {
  const [, since, id] =
    /^(\d{1,15})\/([0-9a-f-]{36})$/.exec(Buffer.from(token, 'base64url').toString()) ?? [];
  if (since === undefined || id === undefined) throw invalidField('pageToken', 'is not a token of this list');
  return { since: Number(since), id };
}
