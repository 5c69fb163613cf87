import { Body, Controller, Header, HttpCode, Param, Post, Req, UseGuards } from '@nestjs/common';
import { AuditLog, operatorNamed } from '../auth/index.js';
import { Approvals } from '../messaging/index.js';
import { A2AError, encodeMessageText, TaskSchema } from '../protocol/index.js';
import { ApprovalRequest } from './approval.request.js';
import { readBody } from './operator.body.js';
import { OperatorGuard, type OperatorRequest } from './operator.guard.js';

const TASK_ID = /^[\x21-\x7e]{1,200}$/;

/** `POST /operator/approvals/{taskId}`: answers a task that waits in AUTH_REQUIRED, and shows it. */
@Controller('operator/approvals')
@UseGuards(OperatorGuard)
export class ApprovalController {
  constructor(
    private readonly approvals: Approvals,
    private readonly audit: AuditLog,
  ) {}

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
    const approval = readBody(ApprovalRequest, body);
    // An operator who is known cannot sign as somebody else.
    const by = operator ?? approval.by;
    const task = await this.approvals.resolve(taskId, { ...approval, by });
    const reason = approval.approved ? 'approved' : 'refused';
    this.audit.record({ act: 'approval', principal: operatorNamed(by), taskId, reason });
    return encodeMessageText(TaskSchema, task);
  }
}
