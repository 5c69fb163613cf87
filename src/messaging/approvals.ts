import type { Approval } from '../agents/index.js';
import type { Task } from '../protocol/index.js';

/** An operator's answer to a question. */
export interface OperatorAnswer {
  readonly text: string;
  readonly by: string;
}

/**
 * An operator's answers to tasks that wait for somebody. Each is for one wait: the one whose status is of the time
 * `since` (milliseconds), or else the one that the task is in; when that is over meanwhile, it is refused.
 */
export abstract class Approvals {
  /**
   * Starts the waiting task's next turn with the approval. One approval answers one wait of one task: of two
   * that arrive at once, one is refused. Resolves with the task as stored once the turn is.
   *
   * @throws A2AError `taskNotFound`; `unsupportedOperation` where the task does not wait for an approval
   */
  abstract resolve(taskId: string, approval: Approval, since?: number): Promise<Task>;

  /**
   * Answers a task that waits in INPUT_REQUIRED, in the caller's place: a message of the task whose metadata says
   * who wrote it.
   *
   * @throws A2AError `taskNotFound`; `unsupportedOperation` where the task does not wait for input
   */
  abstract answer(taskId: string, answer: OperatorAnswer, since?: number): Promise<Task>;
}
