import { TaskState } from '../protocol/index.js';
import { count } from '../telemetry/index.js';

/** Counts that a task has entered a state, once that is committed. */
export function countState(agent: string, state: TaskState): void {
  count('a2a.server.tasks', { agent, state: TaskState[state] });
}
