import { Module } from '@nestjs/common';
import { AgentsModule } from '../agents/index.js';
import { TasksModule } from '../tasks/index.js';
import { Approvals } from './approvals.js';
import { Cancellation } from './cancellation.js';
import { Intake } from './intake.js';
import { LeaseKeeper } from './lease.keeper.js';
import { RetentionKeeper } from './retention.keeper.js';
import { TaskCloser } from './task.closer.js';
import { TurnRunner } from './turn.runner.js';
import { TurnApprovals } from './turn-approvals.js';

@Module({
  imports: [AgentsModule, TasksModule],
  providers: [
    Intake,
    TurnRunner,
    TaskCloser,
    LeaseKeeper,
    RetentionKeeper,
    Cancellation,
    { provide: Approvals, useClass: TurnApprovals },
  ],
  exports: [Intake, TurnRunner, Cancellation, Approvals],
})
export class MessagingModule {}
