import { create, type JsonObject } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { type Answer, type Approval, extended, questionIn } from '../agents/index.js';
import {
  EXTENSION_URIS,
  Role,
  type StreamResponse,
  StreamResponseSchema,
  type Task,
  TaskState,
} from '../protocol/index.js';

const KEY = 'parley.dev/approval';

/** An approval as the log keeps it: the task is WORKING again, and the metadata says who decided what. */
export function approvalEvent(task: Task, approval: Approval, at: number): StreamResponse {
  const { approved, by, reason } = approval;
  return create(StreamResponseSchema, {
    payload: {
      case: 'statusUpdate',
      value: {
        taskId: task.id,
        contextId: task.contextId,
        status: { state: TaskState.WORKING, timestamp: timestampFromMs(at) },
        metadata: {
          [KEY]: { approved, by, ...(reason ? { reason } : {}) },
          ...structured(task, { approved, by, reason }),
        },
      },
    },
  });
}

/** An operator's answer, as the caller's message it stands for; its metadata says who gave it. */
export function answerEvent(
  task: Task,
  { messageId, text, by }: { messageId: string; text: string; by: string },
): StreamResponse {
  const question = questionIn(task.status?.message);
  const choice = question?.options?.find(({ id }) => id === text)?.id;
  return create(StreamResponseSchema, {
    payload: {
      case: 'message',
      value: {
        messageId,
        taskId: task.id,
        contextId: task.contextId,
        role: Role.USER,
        parts: [{ content: { case: 'text', value: text } }],
        metadata: { 'parley.dev/answeredBy': by, ...structured(task, { text, choice, by }) },
        extensions: question ? [EXTENSION_URIS.approvals] : [],
      },
    },
  });
}

/** The same for clients of approvals/v1, where the question was asked in its words. */
function structured(task: Task, answer: Answer): JsonObject {
  const question = questionIn(task.status?.message);
  return question ? extended({ answer: { question: question.id, ...answer } }) : {};
}

export function approvalOf({ payload }: StreamResponse): Approval | undefined {
  if (payload.case !== 'statusUpdate') return undefined;
  return payload.value.metadata?.[KEY] as Approval | undefined;
}
