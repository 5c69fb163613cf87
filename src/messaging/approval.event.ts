import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { Approval } from '../agents/index.js';
import { Role, type StreamResponse, StreamResponseSchema, TaskState } from '../protocol/index.js';

const KEY = 'parley.dev/approval';

/** An approval as the log keeps it: the task is WORKING again, and the metadata says who decided what. */
export function approvalEvent(
  task: { id: string; contextId: string },
  approval: Approval,
  at: number,
): StreamResponse {
  const { approved, by, reason } = approval;
  return create(StreamResponseSchema, {
    payload: {
      case: 'statusUpdate',
      value: {
        taskId: task.id,
        contextId: task.contextId,
        status: { state: TaskState.WORKING, timestamp: timestampFromMs(at) },
        metadata: { [KEY]: { approved, by, ...(reason ? { reason } : {}) } },
      },
    },
  });
}

/** An operator's answer, as the caller's message it stands for; its metadata says who gave it. */
export function answerEvent(
  task: { id: string; contextId: string },
  { messageId, text, by }: { messageId: string; text: string; by: string },
): StreamResponse {
  return create(StreamResponseSchema, {
    payload: {
      case: 'message',
      value: {
        messageId,
        taskId: task.id,
        contextId: task.contextId,
        role: Role.USER,
        parts: [{ content: { case: 'text', value: text } }],
        metadata: { 'parley.dev/answeredBy': by },
      },
    },
  });
}

export function approvalOf({ payload }: StreamResponse): Approval | undefined {
  if (payload.case !== 'statusUpdate') return undefined;
  return payload.value.metadata?.[KEY] as Approval | undefined;
}
