import type { OperationName } from './operations.js';

/** Who calls. Every stored thing belongs to one (organisation, subject); an open deployment knows one anonymous principal. */
export interface Principal {
  /** Empty for the anonymous caller alone. */
  readonly organisation: string;
  readonly subject: string;
  readonly scopes: ReadonlySet<string>;
  /** Who acts in the subject's name (RFC 8693 `act`, or the key that names a subject). */
  readonly actor?: string;
  /** The only agents that the credential is good for. Undefined: all. */
  readonly agents?: ReadonlySet<string>;
  /** May read what all callers of the organisation have sent, and do nothing to it. */
  readonly readsOrganisation?: boolean;
}

export type Binding = 'JSONRPC' | 'HTTP+JSON' | 'GRPC';
export type ProtocolVersion = '1.0' | '0.3';

/** All that is known of one call beside its request. Made by the dispatcher, read by everything below. */
export interface CallContext {
  readonly operation: OperationName;
  readonly binding: Binding;
  readonly version: ProtocolVersion;
  /** Id of the agent that is called. */
  readonly agent: string;
  /** The version of the agent that the address names; undefined at its plain address. */
  readonly agentVersion?: string;
  readonly principal: Principal;
  /** URIs of the extensions that the client listed and the agent speaks. */
  readonly extensions: readonly string[];
  /** The last event number that the client has seen (`Last-Event-ID`), for SubscribeToTask. */
  readonly lastEventId?: number;
  /** W3C `traceparent` of the caller, kept with the turn. */
  readonly traceparent?: string;
  /** Aborts when the client has left or its deadline has passed. Ends the call, never the task. */
  readonly signal: AbortSignal;
  /** Calls `stop`, the latest alone, when the signal aborts; at once if it has. It costs less than the signal. */
  onOver(stop: () => void): void;
  /** A header or metadata entry of the call by its lower-case name. */
  header?(name: string): string | undefined;
  /** Service parameters for the reply (header or metadata names, lower case), filled on the way. */
  readonly reply: Map<string, string>;
}
