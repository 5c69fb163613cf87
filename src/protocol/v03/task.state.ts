import { TaskState } from '../gen/a2a_pb.js';

/** The states as the JSON of 0.3 spells them. */
export const STATE_NAMES: Readonly<Record<TaskState, string>> = {
  [TaskState.UNSPECIFIED]: 'unknown',
  [TaskState.SUBMITTED]: 'submitted',
  [TaskState.WORKING]: 'working',
  [TaskState.INPUT_REQUIRED]: 'input-required',
  [TaskState.COMPLETED]: 'completed',
  [TaskState.CANCELED]: 'canceled',
  [TaskState.FAILED]: 'failed',
  [TaskState.REJECTED]: 'rejected',
  [TaskState.AUTH_REQUIRED]: 'auth-required',
};

const LIVE: ReadonlySet<TaskState> = new Set([TaskState.SUBMITTED, TaskState.WORKING]);

/** Whether a 0.3 stream ends with a status: at every terminal and every interrupted state. */
export const isFinal = (state: TaskState): boolean => !LIVE.has(state);
