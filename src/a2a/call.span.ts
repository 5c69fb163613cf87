import { isMessage, type Message } from '@bufbuild/protobuf';
import { context, trace } from '@opentelemetry/api';
import {
  asA2AError,
  isStreaming,
  OPERATIONS,
  SendMessageResponseSchema,
  TaskSchema,
  TaskState,
} from '../protocol/index.js';
import { arrivalContext, markError, traceparentOf } from '../telemetry/index.js';
import type { Call } from './call.js';
import { countCall } from './call.metrics.js';
import { isOurs } from './faults.js';

const tracer = trace.getTracer('parley');

/** Runs a call's operation within its span. A stream's span goes on until {@link endSpan}. */
export async function traced<T extends object>(call: Call, run: () => Promise<T>): Promise<T> {
  const parent = arrivalContext(call.traceparent, call.tracestate);
  const { agent, binding, version, operation, taskId } = call;
  const attributes = {
    'a2a.agent': agent,
    'a2a.binding': binding,
    'a2a.version': version,
    'a2a.task.id': taskId,
  };
  call.span = tracer.startSpan(`a2a/${OPERATIONS[operation].name}`, { attributes }, parent);
  call.traceparent = traceparentOf(call.span) ?? call.traceparent;
  try {
    const reply = await context.with(trace.setSpan(parent, call.span), run);
    if (isStreaming(operation)) return reply;
    tellTask(call, reply);
    endSpan(call);
    return reply;
  } catch (error) {
    endSpan(call, error);
    throw error;
  }
}

/** Ends the call's span, and counts the call unless it failed: that is for whoever reports the error. */
export function endSpan(call: Call, error?: unknown): void {
  const { span, caller } = call;
  if (error === undefined) countCall(call, caller.gone ? 'left' : 'ok');
  else if (!caller.gone) {
    const fault = asA2AError(error);
    span?.setAttribute('a2a.error.reason', fault.row.reason);
    // What a caller does wrong is no fault of the service.
    if (span && isOurs(fault)) markError(span, fault.cause ?? fault);
  }
  span?.end();
}

function tellTask({ span }: Call, reply: object): void {
  if (!span?.isRecording()) return;
  const task = taskIn(reply as Message);
  const state = task?.status?.state;
  if (task && state !== undefined)
    span.setAttributes({ 'a2a.task.id': task.id, 'a2a.task.state': TaskState[state] });
}

function taskIn(reply: Message) {
  if (isMessage(reply, TaskSchema)) return reply;
  if (!isMessage(reply, SendMessageResponseSchema)) return undefined;
  return reply.payload.case === 'task' ? reply.payload.value : undefined;
}
