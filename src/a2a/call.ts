import type { Span } from '@opentelemetry/api';
import type {
  Binding,
  CallContext,
  OperationName,
  Principal,
  ProtocolVersion,
  ServiceParameters,
} from '../protocol/index.js';
import type { AgentAddress } from './agent.address.js';
import type { Caller } from './caller.js';

/** Where a call comes in, and from whom. */
export interface Destination extends AgentAddress {
  readonly binding: Binding;
  /** The versions that can be spoken at this address. */
  readonly versions: readonly ProtocolVersion[];
  readonly caller: Caller;
}

/** A call as it comes in, before its request is decoded. */
export interface Arrival extends Destination {
  readonly operation: OperationName;
}

/** What the dispatcher has settled about an arrival. */
export interface Admission {
  readonly agent: string;
  readonly agentVersion: string | undefined;
  readonly version: ProtocolVersion;
  readonly extensions: readonly string[];
  readonly principal: Principal;
}

/** A call that may go on: agent, version and caller are known and allowed. */
export class Call implements CallContext {
  readonly operation: OperationName;
  readonly binding: Binding;
  readonly caller: Caller;
  readonly agent: string;
  readonly agentVersion: string | undefined;
  readonly version: ProtocolVersion;
  readonly extensions: readonly string[];
  readonly principal: Principal;
  readonly lastEventId: number | undefined;
  /** Of the caller; of the operation's own span as soon as there is one. */
  traceparent: string | undefined;
  readonly tracestate: string | undefined;
  readonly reply = new Map<string, string>();
  /** The task that the request names; set once it is decoded. */
  taskId: string | undefined;
  /** Covers the operation, and for a stream everything until its end. */
  span: Span | undefined;

  constructor(arrival: Arrival, admission: Admission, parameters: ServiceParameters) {
    this.operation = arrival.operation;
    this.binding = arrival.binding;
    this.caller = arrival.caller;
    this.agent = admission.agent;
    this.agentVersion = admission.agentVersion;
    this.version = admission.version;
    this.extensions = admission.extensions;
    this.principal = admission.principal;
    this.lastEventId = parameters.lastEventId;
    this.traceparent = parameters.traceparent;
    this.tracestate = parameters.tracestate;
    this.reply.set('a2a-version', this.version);
    if (this.extensions.length > 0) this.reply.set(EXTENSIONS[this.version], this.extensions.join(', '));
  }

  header(name: string): string | undefined {
    return this.caller.header(name);
  }

  get signal(): AbortSignal {
    return this.caller.signal;
  }

  onOver(stop: () => void): void {
    this.caller.onOver(stop);
  }
}

const EXTENSIONS: Record<ProtocolVersion, string> = { '1.0': 'a2a-extensions', '0.3': 'x-a2a-extensions' };
