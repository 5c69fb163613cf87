import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/index.js';
import { MessagingModule } from '../messaging/index.js';
import { PushModule } from '../push/index.js';
import { ApprovalController } from './approval.controller.js';
import { DeliveryController, ReceiverController } from './delivery.controller.js';
import { KeyController } from './key.controller.js';

@Module({
  imports: [AuthModule, MessagingModule, PushModule],
  controllers: [ApprovalController, DeliveryController, KeyController, ReceiverController],
})
export class OperatorModule {}
