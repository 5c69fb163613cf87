import { setTimeout as after, setImmediate as nextTurn } from 'node:timers/promises';
import type { Message } from '@bufbuild/protobuf';
import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { type AgentDefinition, AgentRegistry, isPrivate } from '../agents/index.js';
import { noSuchAgent } from '../auth/index.js';
import { Config } from '../config/index.js';
import { Readiness } from '../health/index.js';
import {
  A2AError,
  type AgentCard,
  type CallContext,
  type EventStream,
  type OperationName,
  type Principal,
  type ProtocolVersion,
  type RequestOf,
  readServiceParameters,
  resolveVersion,
  type ServiceParameters,
  validateRequest,
} from '../protocol/index.js';
import { type AddressedAgent, agentAt } from './agent.address.js';
import { type Arrival, Call, type Destination } from './call.js';
import { traced } from './call.span.js';
import { CallerGate } from './caller.gate.js';
import { untilOver } from './caller.limits.js';
import {
  type AgentCapabilities,
  Capabilities,
  requireCapability,
  requirePushWhenAsked,
} from './capabilities.js';
import { activeExtensions } from './extensions.js';
import { Operations } from './operations.js';
import { shownReply } from './shown.reply.js';

export type Reply = Message | EventStream;

export const isStream = (reply: Reply): reply is EventStream => Symbol.asyncIterator in reply;

/** Operations that a replica on its way out takes on no more. */
const LASTING: ReadonlySet<OperationName> = new Set([
  'sendMessage',
  'sendStreamingMessage',
  'subscribeToTask',
]);

/** Who calls which agent, in which version of the protocol. */
interface Resolution {
  readonly agent: AgentDefinition;
  readonly agentVersion: string | undefined;
  readonly capabilities: AgentCapabilities;
  readonly parameters: ServiceParameters;
  readonly version: ProtocolVersion;
  readonly principal: Principal;
}

type Operation = (request: Message, call: CallContext) => Promise<Reply>;

/**
 * The one way of every call, whatever its binding and version. `admit` settles who calls which agent and
 * whether that may be; the binding then decodes the request as the version has it; `perform` checks and runs it.
 */
@Injectable()
export class Dispatcher implements BeforeApplicationShutdown {
  #running = 0;
  #whenIdle: (() => void) | undefined;

  constructor(
    private readonly agents: AgentRegistry,
    private readonly capabilities: Capabilities,
    private readonly gate: CallerGate,
    private readonly operations: Operations,
    private readonly readiness: Readiness,
    private readonly config: Config,
  ) {}

  /**
   * The agent at an address, where it is there for the caller, and the version that the caller wants of it.
   * @throws A2AError of the first that fails
   */
  async resolve(destination: Destination, operation?: OperationName): Promise<Resolution> {
    const principal = await this.gate.identify(destination.caller, operation);
    const addressed = agentAt(this.agents, destination);
    if (!this.gate.mayFind(principal, addressed.agent)) throw noSuchAgent(addressed.agent.id);
    return { ...this.#speaking(addressed, destination), principal };
  }

  #speaking({ agent, agentVersion }: AddressedAgent, { binding, versions, caller }: Destination) {
    const capabilities = this.capabilities.of(agent.id, agentVersion);
    const parameters = readServiceParameters(caller);
    const served = capabilities.versions[binding].filter((version) => versions.includes(version));
    const version = resolveVersion(parameters.version, served);
    return { agent, agentVersion, capabilities, parameters, version };
  }

  /** The card that everyone may see of the agent at an address, where it is the only one. @throws A2AError */
  publicCard(destination: Destination): AgentCard | undefined {
    const addressed = agentAt(this.agents, destination);
    if (isPrivate(addressed.agent)) return undefined;
    const { extendedAgentCard, card } = this.#speaking(addressed, destination).capabilities;
    return extendedAgentCard ? undefined : card;
  }

  /** @throws A2AError of the first step that fails: readiness, caller, agent, version, extensions, scope, capability */
  async admit(arrival: Arrival): Promise<Call> {
    const { operation } = arrival;
    if (this.readiness.draining.aborted && LASTING.has(operation)) throw goingDown();
    const { agent, agentVersion, capabilities, parameters, version, principal } = await this.resolve(
      arrival,
      operation,
    );
    const extensions = activeExtensions(agent, parameters.extensions);
    this.gate.allow(operation, principal, agent);
    requireCapability(operation, capabilities);
    const admission = { agent: agent.id, agentVersion, version, extensions, principal };
    return new Call(arrival, admission, parameters);
  }

  /** A stream's promise settles once its first frame is known. @throws A2AError, or whatever went wrong inside */
  async perform(call: Call, request: Message): Promise<Reply> {
    validateRequest(call.operation, request as RequestOf<typeof call.operation>, this.config.maxJsonValues);
    requirePushWhenAsked(request, this.capabilities.of(call.agent, call.agentVersion));
    call.taskId = taskIdIn(request as RequestOf<OperationName>);
    this.#running++;
    try {
      const over = await this.gate.enter(call, request);
      const operation = this.operations[call.operation] as Operation;
      try {
        const made = await traced(call, () => operation.call(this.operations, request, call));
        const reply = shownReply(made, call);
        this.gate.note(call, request);
        if (over && isStream(reply)) return untilOver(reply, over);
        over?.();
        return reply;
      } catch (error) {
        over?.();
        throw error;
      }
    } finally {
      if (--this.#running === 0) this.#whenIdle?.();
    }
  }

  /** Lets what runs come to its end, within the drain time. */
  async beforeApplicationShutdown(): Promise<void> {
    if (this.#running > 0) {
      const idle = new Promise<void>((resolve) => {
        this.#whenIdle = resolve;
      });
      await Promise.race([idle, after(this.config.drainMs, undefined, { ref: false })]);
    }
    // The last answers are written in the turn in which their calls end.
    await nextTurn();
  }
}

function taskIdIn(request: RequestOf<OperationName>): string | undefined {
  if ('message' in request) return request.message?.taskId || undefined;
  if ('taskId' in request) return request.taskId;
  return 'id' in request ? request.id : undefined;
}

/** What a call is told that another replica should have got. */
export const goingDown = () =>
  new A2AError('unavailable', { message: 'This replica is going down; try again', retryAfter: 1 });
