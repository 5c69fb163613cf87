import { createHash } from 'node:crypto';
import type { Principal } from '../protocol/index.js';
import type { AgentDefinition } from './agent.definition.js';

/** Which callers a version is for: in each list that is given, the caller has to be found. */
export interface CallerRule {
  readonly organisations?: readonly string[];
  readonly subjects?: readonly string[];
  /** As tokens name them. */
  readonly scopes?: readonly string[];
}

/** What part a version takes beside others of its agent. Left out: it is reached at its own address alone. */
export interface Rollout {
  /** Of a hundred new contexts at the agent's plain address, so many begin on this version. */
  readonly weight?: number;
  /** New contexts of these callers begin on this version, whatever the weights. */
  readonly callers?: CallerRule;
  /** Finishes what was begun on it, and takes no new contexts. */
  readonly isDraining?: boolean;
}

/** What decides on the version of a new context. */
export interface ContextOpening {
  readonly contextId: string;
  readonly principal: Pick<Principal, 'organisation' | 'subject' | 'scopes'>;
}

/**
 * The version that a new context at the plain address begins on: the first whose caller rule fits, else by weight,
 * else the current one. The same context id always draws the same lot, on every replica. Versions that the caller
 * may not use are passed over. Undefined: even the current version is
 * draining.
 *
 * @param versions of one agent, the current one first
 */
export function versionForContext(
  versions: readonly AgentDefinition[],
  { contextId, principal }: ContextOpening,
): AgentDefinition | undefined {
  const [current, ...others] = versions.filter(({ rollout }, n) => n === 0 || !rollout?.isDraining);
  if (!current || current.rollout?.isDraining) return undefined;
  const open = others.filter((agent) => isOpenTo(agent, principal));
  const ruled = [current, ...open].find(({ rollout }) => fits(rollout?.callers, principal));
  if (ruled) return ruled;
  let lot = lotOf(contextId);
  for (const agent of open) {
    lot -= agent.rollout?.weight ?? 0;
    if (lot < 0) return agent;
  }
  return current;
}

/** Whether the access of one version lets a caller in who was let in to the agent. */
export function isOpenTo({ access }: AgentDefinition, principal: ContextOpening['principal']): boolean {
  return (
    (access?.organisations?.includes(principal.organisation) ?? true) &&
    (access?.scopes ?? []).every((scope) => principal.scopes.has(scope))
  );
}

/** Versions that can take over each other's work: `1.4.2` and `1.5.0`, but not `2.0.0`. */
export const majorOf = (version: string): string => version.split('.', 1)[0]!;

/** Whether one version was released after another, number by number where both have numbers. */
export function isNewer(version: string, other: string): boolean {
  return new Intl.Collator('en', { numeric: true }).compare(version, other) > 0;
}

function fits(rule: CallerRule | undefined, { organisation, subject, scopes }: ContextOpening['principal']) {
  if (!rule) return false;
  return (
    (rule.organisations?.includes(organisation) ?? true) &&
    (rule.subjects?.includes(subject) ?? true) &&
    (rule.scopes?.some((scope) => scopes.has(scope)) ?? true)
  );
}

/** 0 to 99, by the id alone. */
function lotOf(contextId: string): number {
  return createHash('sha256').update(contextId).digest().readUInt32BE(0) % 100;
}
