import { randomBytes } from 'node:crypto';
import { Injectable, Logger } from '@nestjs/common';
import { trace } from '@opentelemetry/api';
import { type A2AError, asA2AError, type ErrorKind } from '../protocol/index.js';
import type { Caller } from './caller.js';

/** An error as it may leave the service. */
export interface Fault {
  readonly error: A2AError;
  /** Leads from what the caller saw to what was logged. Only where the fault is ours. */
  readonly traceId?: string;
}

/** Where an error came up. */
export interface FaultPlace {
  readonly caller: Caller;
  readonly operation?: string;
  readonly binding?: string;
  readonly agent?: string;
  readonly traceparent?: string;
}

/** Kinds that are our fault when they have a cause. */
const OURS: ReadonlySet<ErrorKind> = new Set(['unavailable', 'invalidAgentResponse']);

/** Turns whatever was thrown into what a caller may read, and logs what only the operator may. */
@Injectable()
export class Faults {
  readonly #logger = new Logger('a2a');

  /** To be called once for each call that failed. */
  report(thrown: unknown, place: FaultPlace): Fault {
    const error = asA2AError(thrown);
    const ours = error.kind === 'internal' || (OURS.has(error.kind) && error.cause !== undefined);
    // What stops because the client left is no fault, and nobody reads the answer.
    if (!ours || place.caller.gone) return { error };
    const traceId = currentTraceId(place.traceparent);
    const { operation, binding, agent } = place;
    const cause = error.cause ?? error;
    this.#logger.error({
      message: 'A call failed',
      kind: error.kind,
      traceId,
      operation,
      binding,
      agent,
      cause,
    });
    return { error, traceId };
  }
}

/** Of the active span, else the caller's own, else a new one, so that there always is something to search for. */
function currentTraceId(traceparent: string | undefined): string {
  const active = trace.getActiveSpan()?.spanContext().traceId;
  const given = traceparent?.split('-')[1];
  return active ?? given ?? randomBytes(16).toString('hex');
}
