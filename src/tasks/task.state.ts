import { TaskState } from '../protocol/index.js';

/**
 * The states of a task (specification 4.1.3):
 *
 *   SUBMITTED -> WORKING <-> INPUT_REQUIRED, AUTH_REQUIRED
 *        \_________\______________\______-> COMPLETED, FAILED, CANCELED, REJECTED
 *
 * Every move out of a non-terminal state is the agent's to make; none leads out of a terminal one.
 */
const TERMINAL: ReadonlySet<TaskState> = new Set([
  TaskState.COMPLETED,
  TaskState.FAILED,
  TaskState.CANCELED,
  TaskState.REJECTED,
]);

const INTERRUPTED: ReadonlySet<TaskState> = new Set([TaskState.INPUT_REQUIRED, TaskState.AUTH_REQUIRED]);

const AGENT_MAY_ENTER: ReadonlySet<TaskState> = new Set([
  TaskState.SUBMITTED,
  TaskState.WORKING,
  ...INTERRUPTED,
  ...TERMINAL,
]);

export function isTerminal(state: TaskState): boolean {
  return TERMINAL.has(state);
}

/** The task waits for somebody: its caller, or an approval. */
export function isInterrupted(state: TaskState): boolean {
  return INTERRUPTED.has(state);
}

/** What becomes of an agent's wish to enter a state. */
export type Transition = 'enter' | 'drop' | 'invalid';

/** `drop`: the task has ended. `invalid`: not one of the nine states an agent may name. */
export function transition(from: TaskState, to: TaskState): Transition {
  if (isTerminal(from)) return 'drop';
  return AGENT_MAY_ENTER.has(to) ? 'enter' : 'invalid';
}
