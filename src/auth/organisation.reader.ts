import type { Config } from '../config/index.js';
import type { Principal } from '../protocol/index.js';

/** The caller with the right to read for its whole organisation, where the deployment knows such a scope and it holds it. */
export function withReach(principal: Principal, { organisationReadScope }: Config): Principal {
  if (organisationReadScope === undefined || !principal.scopes.has(organisationReadScope)) return principal;
  return { ...principal, readsOrganisation: true };
}
