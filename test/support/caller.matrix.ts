import type { JsonObject } from '@bufbuild/protobuf';
import type { OperationName } from '../../src/protocol/index.js';
import { OidcIssuer } from './oidc.issuer.js';

/** Everything that may be asked of a task, by the id of the task and of one of its push configs. */
export const TASK_CALLS: readonly TaskCall[] = [
  { title: 'get', operation: 'getTask', request: (id) => ({ id }) },
  { title: 'list', operation: 'listTasks', request: (_id, { contextId }) => ({ contextId }) },
  { title: 'cancel', operation: 'cancelTask', request: (id) => ({ id }) },
  { title: 'subscribe', operation: 'subscribeToTask', request: (id) => ({ id }) },
  {
    title: 'resume',
    operation: 'subscribeToTask',
    request: (id) => ({ id }),
    headers: { 'last-event-id': '1', 'a2a-last-event-id': '1' },
  },
  { title: 'send to', operation: 'sendMessage', request: (taskId) => message('more', { taskId }) },
  { title: 'stream to', operation: 'sendStreamingMessage', request: (taskId) => message('more', { taskId }) },
  {
    title: 'push create',
    operation: 'createTaskPushNotificationConfig',
    request: (taskId) => ({ taskId, url: HOOK }),
  },
  {
    title: 'push get',
    operation: 'getTaskPushNotificationConfig',
    request: (taskId) => ({ taskId, id: CONFIG }),
  },
  { title: 'push list', operation: 'listTaskPushNotificationConfigs', request: (taskId) => ({ taskId }) },
  {
    title: 'push delete',
    operation: 'deleteTaskPushNotificationConfig',
    request: (taskId) => ({ taskId, id: CONFIG }),
  },
];

export interface TaskCall {
  readonly title: string;
  readonly operation: OperationName;
  readonly request: (taskId: string, victim: { readonly contextId: string }) => JsonObject;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What the victim's tasks are told to do, by the state that they are to be in. */
export const SITUATIONS = { running: 'sleep 3600000', waiting: 'ask', finished: 'hello' } as const;
export type Situation = keyof typeof SITUATIONS;

export const HOOK = 'https://hook.example/a2a';
export const CONFIG = 'victims-own';
const ALL = 'a2a.send a2a.read a2a.cancel a2a.push';

export type Stranger =
  | 'other subject'
  | 'other organisation'
  | 'no credential'
  | 'missing scope'
  | 'expired'
  | 'wrong audience'
  | 'wrong key';

/** The headers of the victim and of everyone who may not touch its tasks. */
export async function callers(
  issuer: OidcIssuer,
): Promise<{ victim: Record<string, string>; strangers: Record<Stranger, Record<string, string>> }> {
  const bearer = async (claims: Record<string, unknown>, foreignKey = false) => ({
    authorization: `Bearer ${await issuer.forge({ claims: { org: 'acme', sub: 'ann', scope: ALL, ...claims }, foreignKey })}`,
  });
  const longAgo = Math.floor(Date.now() / 1000) - 3600;
  return {
    victim: await bearer({}),
    strangers: {
      'other subject': await bearer({ sub: 'bob' }),
      'other organisation': await bearer({ org: 'umbrella' }),
      'no credential': {},
      'missing scope': await bearer({ scope: 'a2a.card' }),
      expired: await bearer({ exp: longAgo }),
      'wrong audience': await bearer({ aud: 'https://elsewhere.example' }),
      'wrong key': await bearer({}, true),
    },
  };
}

export function message(text: string, more: { taskId?: string } = {}): JsonObject {
  return { message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...more } };
}
