import type { JsonObject } from '@bufbuild/protobuf';
import { encodeMessage, MessageSchema, TaskSchema } from '../../protocol/index.js';
import type { TurnContext } from '../agent.executor.js';

/** Under it a task's metadata keeps what a back end has to find again after a crash or in a later turn. */
export const REMOTE = 'parley.dev/remote';

/** A turn as agents of any language are given it: one JSON object. Messages and tasks are in their A2A form. */
export function turnRequest(turn: TurnContext, callbackUrl?: string): JsonObject {
  const { task, message, history, approval, principal, attempt } = turn;
  return {
    task: { id: task.id, contextId: task.contextId },
    message: encodeMessage(MessageSchema, message),
    history: history.map((entry) => encodeMessage(MessageSchema, entry)),
    ...(approval && { approval: { ...approval } }),
    caller: { organisation: principal.organisation, subject: principal.subject },
    acceptedOutputModes: [...turn.acceptedOutputModes],
    extensions: [...turn.extensions],
    metadata: turn.metadata,
    attempt,
    ...(callbackUrl !== undefined && { callbackUrl }),
  };
}

/** The same with the caller's earlier tasks of the context, newest first. */
export async function turnRequestInContext(
  turn: TurnContext,
  earlier: number,
  callbackUrl?: string,
): Promise<JsonObject> {
  const request = turnRequest(turn, callbackUrl);
  if (earlier === 0) return request;
  const tasks = await turn.earlierTasks(earlier);
  return { ...request, context: tasks.map((task) => encodeMessage(TaskSchema, task)) };
}

/** Names this turn of this task, the same again after a crash: for agents that do the same work only once. */
export function turnKey({ task, trigger }: TurnContext): string {
  return `${task.id}/${trigger}`;
}

/** What the back end noted down in the task's metadata; undefined when it was not this kind. */
export function remoteOf<T extends object>(metadata: JsonObject | undefined): Partial<T> | undefined {
  const remote = metadata?.[REMOTE];
  return typeof remote === 'object' && remote !== null ? (remote as Partial<T>) : undefined;
}
