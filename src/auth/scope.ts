import { SCOPES, type Scope } from '../config/index.js';
import type { OperationName } from '../protocol/index.js';

/** The scope that each operation needs. An operation that has no row here does not compile, and is refused. */
export const SCOPE_OF: Readonly<Record<OperationName, Scope>> = {
  sendMessage: 'a2a.send',
  sendStreamingMessage: 'a2a.send',
  getTask: 'a2a.read',
  listTasks: 'a2a.read',
  subscribeToTask: 'a2a.read',
  cancelTask: 'a2a.cancel',
  createTaskPushNotificationConfig: 'a2a.push',
  getTaskPushNotificationConfig: 'a2a.push',
  listTaskPushNotificationConfigs: 'a2a.push',
  deleteTaskPushNotificationConfig: 'a2a.push',
  getExtendedAgentCard: 'a2a.card',
};

/** All that a caller of A2A can need. The operators' scope is not among them. */
export const A2A_SCOPES: ReadonlySet<Scope> = new Set(Object.values(SCOPE_OF));

/** Whether a name is one of ours, which counts only where `scopeNames` says so; all others are agents' own. */
export const isOwnScope = (name: string) => (SCOPES as readonly string[]).includes(name);
