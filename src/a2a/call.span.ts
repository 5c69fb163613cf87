import { type Context, context, propagation, SpanStatusCode, trace } from '@opentelemetry/api';
import { isStreaming, OPERATIONS } from '../protocol/index.js';
import type { Call } from './call.js';

const tracer = trace.getTracer('parley');

/** Runs a call's operation within its span. A stream's span goes on until {@link endSpan}. */
export async function traced<T>(call: Call, run: () => Promise<T>): Promise<T> {
  const parent = parentOf(call);
  const { agent, binding, version, operation } = call;
  const attributes = { 'a2a.agent': agent, 'a2a.binding': binding, 'a2a.version': version };
  call.span = tracer.startSpan(`a2a/${OPERATIONS[operation].name}`, { attributes }, parent);
  try {
    const reply = await context.with(trace.setSpan(parent, call.span), run);
    if (!isStreaming(operation)) endSpan(call);
    return reply;
  } catch (error) {
    endSpan(call, error);
    throw error;
  }
}

/** A client that leaves is no error. */
export function endSpan({ span, caller }: Call, error?: unknown): void {
  if (error !== undefined && !caller.gone) {
    if (error instanceof Error) span?.recordException(error);
    span?.setStatus({ code: SpanStatusCode.ERROR });
  }
  span?.end();
}

/** The span of the transport where it is instrumented, else what the caller sent. */
function parentOf({ traceparent, tracestate }: Call): Context {
  const active = context.active();
  if (traceparent === undefined || trace.getSpan(active) !== undefined) return active;
  return propagation.extract(active, { traceparent, tracestate });
}
