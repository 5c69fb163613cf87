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

/** An agent at one of its addresses: everyone has their own, the default agent has the root beside it. */
export interface AgentAddress {
  readonly agent: AgentDefinition;
  readonly isDefault: boolean;
  readonly atRoot: boolean;
}

/** The card's `supportedInterfaces` for an agent (PROTOCOL: on gRPC the tenant is the only selector). */
export function interfacesOf(address: AgentAddress, served: Served) {
  return served.interfaces
    .filter(({ version }) => version === '1.0' || address.agent.settings.v03)
    .map(({ binding, version }) => ({
      url: urlOf(binding, address, served),
      protocolBinding: binding,
      protocolVersion: version,
      tenant: binding === 'GRPC' && !address.isDefault ? address.agent.id : '',
    }));
}

function urlOf(binding: Binding, { agent, atRoot }: AgentAddress, served: Served): string {
  if (binding === 'GRPC') return served.grpc;
  const base = served.url + (atRoot ? '' : `/agents/${agent.id}`);
  return `${base}/${binding === 'JSONRPC' ? 'jsonrpc' : 'rest'}`;
}
