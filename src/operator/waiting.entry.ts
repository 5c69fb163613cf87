import type { JsonObject } from '@bufbuild/protobuf';
import { questionIn, textOf } from '../agents/index.js';
import { type AgeRule, ageFor } from '../config/index.js';
import { encodeMessage, TaskSchema, TaskState } from '../protocol/index.js';
import type { WaitChange, WaitingTask } from '../tasks/index.js';

/** A waiting task as operators are shown it, in the list, the stream and the webhook. Times by RFC 3339. */
export interface WaitingEntry {
  readonly agent: string;
  readonly organisation: string;
  /** Subject of the caller. */
  readonly caller: string;
  /** Names the wait within the task: an answer that gives it answers no other. */
  readonly since: string;
  /** When it is refused; missing where it is not, or where an answer of the caller is awaited. */
  readonly expiresAt?: string;
  /** Of approvals/v1, where the agent asks in its words. */
  readonly question?: object;
  readonly task: JsonObject;
}

export function waitingEntry({ task, scope, since }: WaitingTask, expiry: readonly AgeRule[]): WaitingEntry {
  const forApproval = task.status?.state === TaskState.AUTH_REQUIRED;
  const end = forApproval ? since + ageFor(expiry, scope) : Number.POSITIVE_INFINITY;
  const question = questionIn(task.status?.message);
  return {
    agent: scope.agent,
    organisation: scope.organisation,
    caller: scope.owner,
    since: new Date(since).toISOString(),
    ...(Number.isFinite(end) && { expiresAt: new Date(end).toISOString() }),
    ...(question && { question }),
    task: encodeMessage(TaskSchema, task),
  };
}

/** What the agent asks, in words; '' where it says nothing. */
export function askedBy({ status }: WaitingTask['task']): string {
  return textOf(status?.message?.parts ?? []);
}

/** A wait that is over, as it was answered or otherwise. */
export interface ResolvedEntry {
  readonly agent: string;
  readonly organisation: string;
  readonly since: string;
  readonly taskId: string;
  /** The state that the task is in now; missing when it is gone. */
  readonly state?: string;
}

export function resolvedEntry(
  { agent, organisation, since, taskId }: WaitChange,
  state?: TaskState,
): ResolvedEntry {
  const name = state === undefined ? {} : { state: `TASK_STATE_${TaskState[state]}` };
  return { agent, organisation, since: new Date(since).toISOString(), taskId, ...name };
}
