import type { CallContext } from '../protocol/index.js';
import type { TaskReach, TaskScope } from '../tasks/index.js';

type Calling = Pick<CallContext, 'principal' | 'agent'>;

/** The caller's own tasks: all that it may change. */
export function scopeOf({ principal, agent }: Calling): TaskScope {
  return { organisation: principal.organisation, owner: principal.subject, agent };
}

/** What the caller may read: its own tasks, or those of its whole organisation. */
export function reachOf(call: Calling): TaskReach {
  const { organisation, owner, agent } = scopeOf(call);
  return call.principal.readsOrganisation ? { organisation, agent } : { organisation, owner, agent };
}
