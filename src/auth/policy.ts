import type { OperationName, Principal } from '../protocol/index.js';

/** What a policy has to know of the agent that is called. */
export interface GuardedAgent {
  readonly id: string;
  readonly access?: {
    readonly organisations?: readonly string[];
    readonly scopes?: readonly string[];
  };
}

/** Tells what a caller may do. Knows nothing of tasks: whose task it is stands in the WHERE clause. */
export abstract class Policy {
  /**
   * @throws A2AError `notFound` for an agent that is not there for the caller, as for one that never was;
   *   `permissionDenied`, with the missing scope in its metadata
   */
  abstract authorise(operation: OperationName, principal: Principal, agent: GuardedAgent): void;

  /** Whether the agent is there for the caller at all. */
  abstract mayFind(principal: Principal, agent: GuardedAgent): boolean;

  /** Whether the caller may call the agent, given the scope of the operation. */
  abstract mayUse(principal: Principal, agent: GuardedAgent): boolean;
}
