import { Module } from '@nestjs/common';
import { AgentsModule } from '../agents/index.js';
import { AuthModule } from '../auth/index.js';
import { CardsModule } from '../cards/index.js';
import { MessagingModule } from '../messaging/index.js';
import { PushModule } from '../push/index.js';
import { TasksModule } from '../tasks/index.js';
import { CallerGate } from './caller.gate.js';
import { CallerLimits } from './caller.limits.js';
import { Capabilities, CardCapabilities } from './capabilities.js';
import { ChangesController } from './changes.controller.js';
import { Dispatcher } from './dispatcher.js';
import { ExtensionController } from './extension.controller.js';
import { Faults } from './faults.js';
import { GrpcController } from './grpc/index.js';
import { JsonBody } from './http.body.js';
import { JsonRpcController } from './jsonrpc/index.js';
import { OpenApiController } from './openapi.controller.js';
import { Operations } from './operations.js';
import { RestController } from './rest/index.js';
import { OpenStreams } from './streaming/index.js';
import { TaskService } from './task.service.js';

/** The protocol surface: three bindings over one dispatcher over one service. */
@Module({
  imports: [AgentsModule, AuthModule, CardsModule, MessagingModule, PushModule, TasksModule],
  controllers: [
    ChangesController,
    ExtensionController,
    JsonRpcController,
    RestController,
    GrpcController,
    OpenApiController,
  ],
  providers: [
    CallerGate,
    CallerLimits,
    Dispatcher,
    Faults,
    JsonBody,
    OpenStreams,
    { provide: Capabilities, useClass: CardCapabilities },
    { provide: Operations, useClass: TaskService },
  ],
  exports: [OpenStreams],
})
export class A2AModule {}
