import { z } from 'zod';
import { text } from './operator.body.js';

/**
 * The body of an answer: `answer` for a task that waits for input, else an approval. An empty one approves. With the
 * `since` of a wait, as the list shows it, it is for that wait alone.
 */
export const ApprovalRequest = z.strictObject({
  approved: z.boolean().default(true),
  answer: text(100_000).optional(),
  by: text(200).default('operator'),
  reason: text(2000).optional(),
  since: z.iso.datetime({ offset: true }).optional(),
});

/** Which waiting tasks to tell of. */
export const StreamRequest = z.strictObject({
  agent: text(63).optional(),
  organisation: text(500).optional(),
  state: z.enum(['TASK_STATE_INPUT_REQUIRED', 'TASK_STATE_AUTH_REQUIRED']).optional(),
});

/** The same, a page of them. */
export const WaitingRequest = StreamRequest.extend({
  pageSize: z.coerce.number().int().min(1).max(100).default(50),
  pageToken: text(500).optional(),
});
