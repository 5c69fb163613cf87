import { randomBytes } from 'node:crypto';
import { Injectable, Logger } from '@nestjs/common';
import {
  type A2AError,
  asA2AError,
  type Binding,
  type ErrorKind,
  type Principal,
} from '../protocol/index.js';
import { traceIdOf } from '../telemetry/index.js';
import { countFailure } from './call.metrics.js';
import type { Caller } from './caller.js';
import { traceRefusal } from './refusal.span.js';

/** An error as it may leave the service. */
export interface Fault {
  readonly error: A2AError;
  /** Leads from what the caller saw to what was logged. Only where the fault is ours. */
  readonly traceId?: string;
}

/** Where an error came up. */
export interface FaultPlace {
  readonly caller: Caller;
  /** One of few: what a caller made up is left out. */
  readonly operation?: string;
  readonly binding?: Binding;
  readonly agent?: string;
  readonly principal?: Principal;
  readonly taskId?: string;
  readonly traceparent?: string;
}

/** Kinds that are our fault when they have a cause. */
const OURS: ReadonlySet<ErrorKind> = new Set(['unavailable', 'invalidAgentResponse']);
/** Kinds that a caller can bring about as fast as it can call; the audit log and metrics tell of them. */
const CHEAP: ReadonlySet<ErrorKind> = new Set(['unauthenticated', 'permissionDenied', 'rateLimited']);

/** Whether the service is to blame, and not the caller. */
export const isOurs = ({ kind, cause }: A2AError): boolean =>
  kind === 'internal' || (OURS.has(kind) && cause !== undefined);

/** Turns whatever was thrown into what a caller may read, and logs what only the operator may. */
@Injectable()
export class Faults {
  readonly #logger = new Logger('a2a');

  /** To be called once for each call that failed. */
  report(thrown: unknown, place: FaultPlace): Fault {
    const error = asA2AError(thrown);
    countFailure(place, error);
    // What stops because the client left is no fault, and nobody reads the answer.
    if (place.caller.gone) return { error };
    traceRefusal(place, error, isOurs(error));
    const { operation, binding, agent, taskId, principal } = place;
    const caller = principal && `${principal.organisation}/${principal.subject}`;
    const record = { kind: error.kind, operation, binding, agent, caller, taskId };
    const known = traceIdOf(place.traceparent ?? place.caller.header('traceparent'));
    if (isOurs(error)) {
      const traceId = known ?? newTraceId();
      this.#logger.error({ message: 'A call failed', ...record, traceId, cause: error.cause ?? error });
      return { error, traceId };
    }
    const refusal = { message: 'A call was refused', ...record, traceId: known, reason: error.message };
    if (CHEAP.has(error.kind)) this.#logger.debug(refusal);
    else this.#logger.log(refusal);
    return { error };
  }
}

/** So that there always is something to search for. */
const newTraceId = () => randomBytes(16).toString('hex');
