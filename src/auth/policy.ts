import type { OperationName, Principal } from '../protocol/index.js';

/** Tells what a caller may do. Knows nothing of tasks: whose task it is stands in the WHERE clause. */
export abstract class Policy {
  /** @throws A2AError `permissionDenied`, with the missing scope in its metadata. */
  abstract authorise(operation: OperationName, principal: Principal, agentId: string): void;
}
