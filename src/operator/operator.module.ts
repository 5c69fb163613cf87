import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/index.js';
import { MessagingModule } from '../messaging/index.js';
import { PushModule } from '../push/index.js';
import { TasksModule } from '../tasks/index.js';
import { ApprovalController } from './approval.controller.js';
import { ApprovalExpiry } from './approval.expiry.js';
import { ApprovalStream } from './approval.stream.js';
import { ApprovalWebhook } from './approval.webhook.js';
import { DeliveryController, ReceiverController } from './delivery.controller.js';
import { ErasureController } from './erasure.controller.js';
import { KeyController } from './key.controller.js';
import { LogController } from './log.controller.js';
import { PushAlarm } from './push.alarm.js';
import { WaitWatch } from './wait.watch.js';

@Module({
  imports: [AuthModule, MessagingModule, PushModule, TasksModule],
  providers: [ApprovalExpiry, ApprovalStream, ApprovalWebhook, PushAlarm, WaitWatch],
  controllers: [
    ApprovalController,
    DeliveryController,
    ErasureController,
    KeyController,
    LogController,
    ReceiverController,
  ],
})
export class OperatorModule {}
