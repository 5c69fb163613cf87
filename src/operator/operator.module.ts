import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/index.js';
import { MessagingModule } from '../messaging/index.js';
import { ApprovalController } from './approval.controller.js';
import { KeyController } from './key.controller.js';

@Module({ imports: [AuthModule, MessagingModule], controllers: [ApprovalController, KeyController] })
export class OperatorModule {}
