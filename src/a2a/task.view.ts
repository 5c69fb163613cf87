import type { Task } from '../protocol/index.js';

/**
 * A task as a caller asked to see it (specification 3.2.4). `historyLength`: unset is all, 0 none, n the newest
 * n. The stored task stays whole.
 */
export function viewOf(task: Task, historyLength: number | undefined, artifacts = true): Task {
  if (historyLength === undefined && artifacts) return task;
  return {
    ...task,
    history: historyLength === undefined ? task.history : newest(task.history, historyLength),
    artifacts: artifacts ? task.artifacts : [],
  };
}

function newest<T>(list: readonly T[], count: number): T[] {
  return count === 0 ? [] : list.slice(-count);
}
