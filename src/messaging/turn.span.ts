import { trace } from '@opentelemetry/api';
import { TaskState } from '../protocol/index.js';
import { contextOf, inSpan } from '../telemetry/index.js';
import type { Turn } from './turn.js';

/**
 * Runs a turn in a span of the trace of the message that asked for it, wherever and whenever it runs. One that
 * was taken over links to that message, too: its span then comes long after the message's has ended.
 */
export function inTurnSpan(turn: Turn, run: () => Promise<boolean>): Promise<boolean> {
  const { lease, scope, attempt, request } = turn.claim;
  const parent = contextOf(request.traceparent);
  const message = trace.getSpanContext(parent);
  const links = attempt > 1 && message ? [message] : [];
  const attributes = { 'a2a.agent': scope.agent, 'a2a.task.id': lease.taskId, 'a2a.turn.attempt': attempt };
  return inSpan('a2a/turn', { parent, links, attributes }, async (span) => {
    const again = await run();
    span.setAttribute('a2a.task.state', TaskState[turn.state]);
    return again;
  });
}
