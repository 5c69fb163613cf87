import type { Approval } from '../agents/index.js';
import type { Task } from '../protocol/index.js';

/** An operator's answers to tasks that wait for somebody. */
export abstract class Approvals {
  /**
   * Starts the waiting task's next turn with the approval. One approval answers one wait of one task: of two
   * that arrive at once, one is refused. Resolves with the task as stored once the turn is.
   *
   * @throws A2AError `taskNotFound`; `unsupportedOperation` where the task does not wait for an approval
   */
  abstract resolve(taskId: string, approval: Approval): Promise<Task>;

  /**
   * Answers a task that waits in INPUT_REQUIRED, in the caller's place: a message of the task whose metadata says
   * who wrote it.
   *
   * @throws A2AError `taskNotFound`; `unsupportedOperation` where the task does not wait for input
   */
  abstract answer(taskId: string, text: string, by: string): Promise<Task>;
}
