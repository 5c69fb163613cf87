import type { JsonObject } from '@bufbuild/protobuf';
import type { Task } from '../protocol/index.js';

/** Why the service itself failed a task: a word for programs and a sentence for people. */
export interface Reason {
  readonly code: string;
  readonly text: string;
}

export const REASONS = {
  agentFailed: { code: 'AGENT_FAILED', text: 'The agent failed.' },
  agentInactive: { code: 'AGENT_INACTIVE', text: 'The agent was silent for too long.' },
  agentGone: { code: 'AGENT_GONE', text: 'The agent is no longer served.' },
  agentVersionGone: {
    code: 'AGENT_VERSION_GONE',
    text: 'The version of the agent that the task began on is no longer served.',
  },
  taskTooLarge: { code: 'TASK_TOO_LARGE', text: 'The task has grown too large.' },
  waitedTooLong: { code: 'WAITED_TOO_LONG', text: 'Nobody answered in time what the task waited for.' },
  invalidAgentResponse: { code: 'INVALID_AGENT_RESPONSE', text: 'The agent gave no valid answer.' },
  replicaLost: { code: 'REPLICA_LOST', text: 'The service was interrupted while the agent was working.' },
} as const satisfies Record<string, Reason>;

const KEY = 'parley.dev/reason';

/** The reason as metadata of the FAILED status; it ends up in the task's metadata. */
export function reasonMetadata(reason: Reason): JsonObject {
  return { [KEY]: reason.code };
}

export function hasReason(task: Task, reason: Reason): boolean {
  return task.metadata?.[KEY] === reason.code;
}
