import type { CallContext } from '../protocol/index.js';
import type { TaskReach, TaskScope } from './task.store.js';

type Calling = Pick<CallContext, 'principal' | 'agent' | 'traceparent'>;

/** The caller's own tasks: all that it may change. */
export function scopeOf({ principal, agent, traceparent }: Calling): TaskScope {
  return { organisation: principal.organisation, owner: principal.subject, agent, traceparent };
}

/** What the caller may read: its own tasks, or those of its whole organisation. */
export function reachOf(call: Calling): TaskReach {
  const { owner, ...organisation } = scopeOf(call);
  return call.principal.readsOrganisation ? organisation : { ...organisation, owner };
}
