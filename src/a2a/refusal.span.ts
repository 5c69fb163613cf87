import { trace } from '@opentelemetry/api';
import { type A2AError, OPERATIONS } from '../protocol/index.js';
import { arrivalContext, markError } from '../telemetry/index.js';
import { Call } from './call.js';
import type { FaultPlace } from './faults.js';

const tracer = trace.getTracer('parley');

/**
 * The span of a call that failed before its operation began: nobody knows the caller or the method, the request is
 * not valid, a limit is hit. It stands where the operation's span would, and has the reason in its place.
 */
export function traceRefusal(place: FaultPlace, error: A2AError, isOurs: boolean): void {
  const { binding, caller, operation = 'unknown' } = place;
  const call = place instanceof Call ? place : undefined;
  if (binding === undefined || call?.span) return;
  const known: Readonly<Record<string, { readonly name: string } | undefined>> = OPERATIONS;
  const name = known[operation]?.name ?? operation;
  const parent = arrivalContext(caller.header('traceparent'));
  const attributes = {
    'a2a.agent': call?.agent,
    'a2a.binding': binding,
    'a2a.version': call?.version,
    'a2a.task.id': call?.taskId,
    'a2a.error.reason': error.row.reason,
  };
  const span = tracer.startSpan(`a2a/${name}`, { attributes, startTime: caller.since }, parent);
  if (isOurs) markError(span, error.cause ?? error);
  span.end();
}
