import type { AgentDefinition } from '../agents/index.js';
import type { Binding, ProtocolVersion } from '../protocol/index.js';

/** What is really served, and where. Cards declare this and nothing else. */
export interface Served {
  /** The bindings that answer, once for each version, in order of preference. */
  readonly interfaces: readonly { readonly binding: Binding; readonly version: ProtocolVersion }[];
  /** Base URL of the service as callers know it, without a slash at its end. */
  readonly url: string;
  /** `host:port` of the gRPC listener as callers know it. */
  readonly grpc: string;
  readonly pushNotifications: boolean;
}

/** Each version of an agent has an address, the current one the plain one too, and that of the default agent the root. */
export type AgentPlace = 'root' | 'plain' | 'version';

/** An agent at one of its addresses. */
export interface AgentAddress {
  readonly agent: AgentDefinition;
  readonly isDefault: boolean;
  readonly place: AgentPlace;
}

/** The card's `supportedInterfaces` for an agent (PROTOCOL: on gRPC the tenant is the only selector). */
export function interfacesOf(address: AgentAddress, served: Served) {
  return served.interfaces
    .filter(({ version }) => version === '1.0' || address.agent.settings.v03)
    .map(({ binding, version }) => ({
      url: urlOf(binding, address, served),
      protocolBinding: binding,
      protocolVersion: version,
      tenant: binding === 'GRPC' ? tenantOf(address) : '',
    }));
}

/** The path of an agent's address. */
function pathOf({ agent: { id, version }, place }: AgentAddress): string {
  if (place === 'root') return '';
  return place === 'plain' ? `/agents/${id}` : `/agents/${id}/versions/${version}`;
}

function tenantOf({ agent: { id, version }, place, isDefault }: AgentAddress): string {
  if (place === 'version') return `${id}@${version}`;
  return isDefault ? '' : id;
}

function urlOf(binding: Binding, address: AgentAddress, served: Served): string {
  if (binding === 'GRPC') return served.grpc;
  return `${served.url}${pathOf(address)}/${binding === 'JSONRPC' ? 'jsonrpc' : 'rest'}`;
}
