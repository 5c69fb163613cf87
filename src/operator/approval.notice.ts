import { timestampMs } from '@bufbuild/protobuf/wkt';
import type { Config } from '../config/index.js';
import { type Task, TaskState } from '../protocol/index.js';
import type { TurnClaim, WaitNotice } from '../tasks/index.js';
import { askedBy, resolvedEntry, waitingEntry } from './waiting.entry.js';

const LONGEST_TEXT = 2_000;

/**
 * What the webhook is told: `text` for people, which Slack and what is like it show, and the same as Standard
 * Webhooks have it: `type`, `timestamp` and `data`. Undefined: there is nothing to tell any more, the task is gone.
 */
export function noticeBody(
  notice: WaitNotice,
  found: Omit<TurnClaim, 'lease'> | undefined,
  { approvalExpiry, publicUrl = '' }: Pick<Config, 'approvalExpiry' | 'publicUrl'>,
): string | undefined {
  const { taskId, agent, since, kind } = notice;
  const timestamp = new Date().toISOString();
  const state = found?.stored.task.status?.state;
  if (kind === 'resolved') {
    const text = shown(`${agent} waits no longer: task ${taskId} is ${outcome(notice, found?.stored.task)}`);
    return JSON.stringify({ text, type: 'approval.resolved', timestamp, data: resolvedEntry(notice, state) });
  }
  if (!found) return undefined;
  const { stored, scope } = found;
  const entry = waitingEntry({ ...stored, scope, since }, approvalExpiry);
  const wants = notice.state === TaskState.AUTH_REQUIRED ? 'asks for an approval' : 'asks its caller';
  const asked = askedBy(stored.task);
  const text = shown(`${agent} ${wants} (task ${taskId}, caller ${scope.owner}): ${asked}`);
  const answerAt = `${publicUrl}/operator/approvals/${taskId}`;
  return JSON.stringify({ text, type: 'approval.waiting', timestamp, data: { ...entry, answerAt } });
}

function outcome({ since }: WaitNotice, task: Task | undefined): string {
  const { state, timestamp } = task?.status ?? {};
  if (state === undefined || timestamp === undefined) return 'gone';
  // An answered task keeps its status until its agent says more.
  if (timestampMs(timestamp) === since) return 'answered';
  return (TaskState[state] ?? '').toLowerCase().replaceAll('_', ' ');
}

/** Callers and agents write it: in a chat it must neither link nor call anybody (`<!channel>`). */
function shown(text: string): string {
  const cut = text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT).toWellFormed()}…` : text;
  return cut.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
