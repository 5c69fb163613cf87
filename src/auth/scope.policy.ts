import { Injectable } from '@nestjs/common';
import { A2AError, type OperationName, type Principal } from '../protocol/index.js';
import { Policy } from './policy.js';
import { SCOPE_OF, type Scope } from './scope.js';

/** Allows an operation to callers that hold its scope. */
@Injectable()
export class ScopePolicy extends Policy {
  authorise(operation: OperationName, principal: Principal, _agentId: string): void {
    const scope = requiredScope(operation);
    if (scope !== undefined && principal.scopes.has(scope)) return;
    throw new A2AError('permissionDenied', { metadata: { scope: scope ?? 'none', operation } });
  }
}

/** Own rows only, so that a name such as `toString` finds none. */
function requiredScope(operation: string): Scope | undefined {
  return Object.hasOwn(SCOPE_OF, operation) ? SCOPE_OF[operation as OperationName] : undefined;
}
