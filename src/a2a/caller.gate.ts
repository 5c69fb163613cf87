import type { Message } from '@bufbuild/protobuf';
import { Injectable } from '@nestjs/common';
import type { AgentDefinition } from '../agents/index.js';
import { AuditLog, Authenticator, Policy } from '../auth/index.js';
import type { OperationName, Principal } from '../protocol/index.js';
import type { Call } from './call.js';
import type { Caller } from './caller.js';
import { CallerLimits } from './caller.limits.js';

/** The one guard of every binding and version: who calls, whether they may, and whether not too often. */
@Injectable()
export class CallerGate {
  constructor(
    private readonly authenticator: Authenticator,
    private readonly policy: Policy,
    private readonly limits: CallerLimits,
    private readonly audit: AuditLog,
  ) {}

  /** @throws A2AError `unauthenticated`, `rateLimited` after too many wrong credentials, `unavailable` */
  identify(caller: Caller, operation?: OperationName): Promise<Principal> {
    return this.authenticator.authenticate(caller, operation);
  }

  /** @throws A2AError `notFound` for an agent that the caller is not to know of, `permissionDenied`, `rateLimited` */
  allow(operation: OperationName, principal: Principal, agent: AgentDefinition): void {
    this.policy.authorise(operation, principal, agent);
    this.limits.countCall(principal, agent.id);
  }

  /** Whether there is such an agent for the caller. */
  mayFind(principal: Principal, agent: AgentDefinition): boolean {
    return this.policy.mayFind(principal, agent);
  }

  /** Gives what to call once the call is over, its stream included, if anybody counts. @throws A2AError `rateLimited` */
  async enter(call: Call, request: Message): Promise<(() => void) | undefined> {
    await this.limits.checkTasks(call, request);
    return this.limits.openStream(call);
  }

  /** Keeps what has been done, where it matters for security. */
  note({ operation, principal, agent, caller }: Call, request: Message): void {
    if (operation !== 'cancelTask' || !('id' in request)) return;
    this.audit.record({
      act: 'cancel',
      principal,
      agent,
      taskId: String(request.id),
      address: caller.address,
    });
  }
}
