import { isMessage, type Message } from '@bufbuild/protobuf';
import { Injectable } from '@nestjs/common';
import { CardService } from '../cards/index.js';
import {
  A2AError,
  type AgentCard,
  type Binding,
  isStreaming,
  type OperationName,
  type ProtocolVersion,
  SendMessageRequestSchema,
} from '../protocol/index.js';

/** What an agent's card says that it can do. */
export interface AgentCapabilities {
  readonly streaming: boolean;
  readonly pushNotifications: boolean;
  readonly extendedAgentCard: boolean;
  /** The versions that each binding answers in. */
  readonly versions: Readonly<Record<Binding, readonly ProtocolVersion[]>>;
  /** The public card that says so. */
  readonly card: AgentCard;
}

/** The capabilities that decide what is answered (3.3.4), the same that callers read on the card. */
export abstract class Capabilities {
  /** Of the agent at its plain address, or of one of its versions. */
  abstract of(agentId: string, agentVersion?: string): AgentCapabilities;
}

/** Reads them off the published cards, so that what a card declares and what is served cannot differ. */
@Injectable()
export class CardCapabilities extends Capabilities {
  readonly #known = new WeakMap<AgentCard, AgentCapabilities>();

  constructor(private readonly cards: CardService) {
    super();
  }

  /** @throws A2AError `unavailable` before the cards are published */
  of(agentId: string, agentVersion?: string): AgentCapabilities {
    const { card } = this.cards.ofAgent(agentId, agentVersion);
    let capabilities = this.#known.get(card);
    if (capabilities === undefined) {
      capabilities = capabilitiesOf(card);
      this.#known.set(card, capabilities);
    }
    return capabilities;
  }
}

function capabilitiesOf(card: AgentCard): AgentCapabilities {
  const { capabilities, supportedInterfaces } = card;
  const versions = (binding: Binding) =>
    supportedInterfaces
      .filter(({ protocolBinding }) => protocolBinding === binding)
      .map(({ protocolVersion }) => protocolVersion as ProtocolVersion);
  return {
    streaming: capabilities?.streaming ?? false,
    pushNotifications: capabilities?.pushNotifications ?? false,
    extendedAgentCard: capabilities?.extendedAgentCard ?? false,
    versions: {
      JSONRPC: versions('JSONRPC'),
      'HTTP+JSON': versions('HTTP+JSON'),
      GRPC: versions('GRPC'),
    },
    card,
  };
}

const PUSH_OPERATIONS: ReadonlySet<OperationName> = new Set([
  'createTaskPushNotificationConfig',
  'getTaskPushNotificationConfig',
  'listTaskPushNotificationConfigs',
  'deleteTaskPushNotificationConfig',
]);

/** @throws A2AError for an operation that the agent does not offer, before anything is looked up */
export function requireCapability(operation: OperationName, capabilities: AgentCapabilities): void {
  if (isStreaming(operation)) {
    if (!capabilities.streaming) {
      throw new A2AError('unsupportedOperation', { message: 'This agent does not stream' });
    }
  } else if (PUSH_OPERATIONS.has(operation)) {
    requirePush(capabilities);
  } else if (operation === 'getExtendedAgentCard' && !capabilities.extendedAgentCard) {
    throw new A2AError('unsupportedOperation', { message: 'This agent has no extended card' });
  }
}

/** @throws A2AError `pushNotificationNotSupported` for a message that brings a push config where nothing is pushed */
export function requirePushWhenAsked(request: Message, capabilities: AgentCapabilities): void {
  if (isMessage(request, SendMessageRequestSchema) && request.configuration?.taskPushNotificationConfig) {
    requirePush(capabilities);
  }
}

function requirePush({ pushNotifications }: AgentCapabilities): void {
  if (!pushNotifications) throw new A2AError('pushNotificationNotSupported');
}
