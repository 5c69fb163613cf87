import { Injectable } from '@nestjs/common';
import { Config, type Scope } from '../config/index.js';
import { A2AError, type OperationName, type Principal } from '../protocol/index.js';
import { challenge } from './challenge.js';
import { Policy } from './policy.js';
import { SCOPE_OF } from './scope.js';

/** Allows an operation to callers that hold its scope, on the agents that their credential is good for. */
@Injectable()
export class ScopePolicy extends Policy {
  constructor(private readonly config: Config) {
    super();
  }

  authorise(operation: OperationName, principal: Principal, agentId: string): void {
    const scope = requiredScope(operation);
    if (scope === undefined || !principal.scopes.has(scope)) throw this.#lacking(scope);
    if (principal.agents?.has(agentId) === false) {
      throw new A2AError('permissionDenied', {
        message: 'The credential is not good for this agent',
        metadata: { agent: agentId },
      });
    }
  }

  #lacking(scope: Scope | undefined): A2AError {
    if (scope === undefined) return new A2AError('permissionDenied');
    const name = this.config.scopeNames[scope];
    return new A2AError('permissionDenied', {
      message: `The credential lacks the scope ${name}`,
      metadata: { scope: name },
      challenge: challenge(this.config, { error: 'insufficient_scope', scope }),
    });
  }
}

/** Own rows only, so that a name such as `toString` finds none. */
function requiredScope(operation: string): Scope | undefined {
  return Object.hasOwn(SCOPE_OF, operation) ? SCOPE_OF[operation as OperationName] : undefined;
}
