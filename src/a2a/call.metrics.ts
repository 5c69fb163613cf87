import type { A2AError } from '../protocol/index.js';
import { count, measure, secondsSince } from '../telemetry/index.js';
import { Call } from './call.js';
import type { FaultPlace } from './faults.js';

/**
 * Counts a call that is over, by what came of it. The agent of one that was not let in is what a caller wrote,
 * and is not told.
 */
export function countCall(place: FaultPlace, outcome: string): void {
  const { caller, operation = 'unknown', binding = 'HTTP' } = place;
  const agent = place instanceof Call ? place.agent : 'unknown';
  const attributes = { operation, binding, agent, outcome };
  measure('a2a.server.operation.duration', secondsSince(caller.since), attributes);
}

/** Counts a failed call, and those who were kept out besides. */
export function countFailure(place: FaultPlace, error: A2AError): void {
  const { kind, metadata } = error;
  const { reason } = error.row;
  countCall(place, place.caller.gone ? 'left' : reason);
  if (kind === 'unauthenticated' || kind === 'permissionDenied')
    count('a2a.server.auth.failures', { reason });
  if (kind === 'rateLimited') count('a2a.server.limits.hit', { limit: metadata.limit ?? 'failed logins' });
}
