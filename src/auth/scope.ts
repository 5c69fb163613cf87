import type { OperationName } from '../protocol/index.js';

export const SCOPES = ['a2a.send', 'a2a.read', 'a2a.cancel', 'a2a.push', 'a2a.card'] as const;

export type Scope = (typeof SCOPES)[number];

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
