import { Module } from '@nestjs/common';
import { MessagingModule } from '../messaging/index.js';
import { ApprovalController } from './approval.controller.js';

@Module({ imports: [MessagingModule], controllers: [ApprovalController] })
export class OperatorModule {}
