import { Injectable } from '@nestjs/common';
import { Config, type Scope } from '../config/index.js';
import { A2AError, excerpt, type OperationName, type Principal } from '../protocol/index.js';
import { AuditLog } from './audit.log.js';
import { challenge } from './challenge.js';
import { type GuardedAgent, Policy } from './policy.js';
import { SCOPE_OF } from './scope.js';

/** Allows an operation to callers that hold its scope and the agent's, on the agents that are there for them. */
@Injectable()
export class ScopePolicy extends Policy {
  constructor(
    private readonly config: Config,
    private readonly audit: AuditLog,
  ) {
    super();
  }

  authorise(operation: OperationName, principal: Principal, agent: GuardedAgent): void {
    const refusal = this.#refusal(operation, principal, agent);
    if (refusal === undefined) return;
    const { kind: reason, metadata } = refusal;
    this.audit.record({
      act: 'denied',
      principal,
      agent: agent.id,
      operation,
      reason,
      scope: metadata.scope,
    });
    throw refusal;
  }

  mayFind({ organisation }: Principal, { access }: GuardedAgent): boolean {
    return access?.organisations?.includes(organisation) ?? true;
  }

  mayUse(principal: Principal, agent: GuardedAgent): boolean {
    return (
      this.mayFind(principal, agent) &&
      missingScope(principal, agent) === undefined &&
      principal.agents?.has(agent.id) !== false
    );
  }

  #refusal(operation: OperationName, principal: Principal, agent: GuardedAgent): A2AError | undefined {
    if (!this.mayFind(principal, agent)) return noSuchAgent(agent.id);
    const scope = requiredScope(operation);
    if (scope === undefined) return new A2AError('permissionDenied');
    if (!principal.scopes.has(scope)) return this.#lacking(this.config.scopeNames[scope]);
    if (principal.agents?.has(agent.id) === false) {
      const message = 'The credential is not good for this agent';
      return new A2AError('permissionDenied', { message, metadata: { agent: agent.id } });
    }
    const missing = missingScope(principal, agent);
    return missing === undefined ? undefined : this.#lacking(missing);
  }

  #lacking(scope: string): A2AError {
    return new A2AError('permissionDenied', {
      message: `The credential lacks the scope ${scope}`,
      metadata: { scope },
      challenge: challenge(this.config, { error: 'insufficient_scope', scope }),
    });
  }
}

/** What is said of an agent that is unknown, and of one that the caller is not to know of. */
export const noSuchAgent = (id: string) =>
  new A2AError('notFound', { message: 'There is no such agent', metadata: { agent: excerpt(id) } });

const missingScope = ({ scopes }: Principal, { access }: GuardedAgent) =>
  access?.scopes?.find((scope) => !scopes.has(scope));

/** Own rows only, so that a name such as `toString` finds none. */
function requiredScope(operation: string): Scope | undefined {
  return Object.hasOwn(SCOPE_OF, operation) ? SCOPE_OF[operation as OperationName] : undefined;
}
