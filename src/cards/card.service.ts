import { Injectable, type OnModuleInit } from '@nestjs/common';
import { type AgentDefinition, AgentRegistry } from '../agents/index.js';
import { Config } from '../config/index.js';
import { A2AError, type AgentCard } from '../protocol/index.js';
import { agentCard } from './agent.card.js';
import { CardKeys } from './card.keys.js';
import { cardProblems } from './card.problems.js';
import { signatures } from './card.signature.js';
import { JWKS_PATH } from './jwks.controller.js';
import { PublishedCard } from './published.card.js';
import type { Served } from './served.js';

/** Stands for the addresses until the service listens: a card can be wrong in everything else before that. */
const NOT_YET_LISTENING: Served = {
  interfaces: [{ binding: 'JSONRPC', version: '1.0' }],
  url: 'https://not-yet.invalid',
  grpc: 'not-yet.invalid:443',
  pushNotifications: false,
};

/** No card may leave with a REQUIRED field or list empty (PROTOCOL, Cards). Says everything that is wrong. */
export class InvalidCards extends Error {
  constructor(readonly problems: readonly string[]) {
    super(`The cards of these agents cannot be published:\n${problems.map((p) => `  - ${p}`).join('\n')}`);
    this.name = 'InvalidCards';
  }
}

interface Cards {
  readonly root: PublishedCard;
  readonly byAgent: ReadonlyMap<string, PublishedCard>;
}

/** The public cards, built and checked once. */
@Injectable()
export class CardService implements OnModuleInit {
  #cards: Cards | undefined;

  constructor(
    private readonly agents: AgentRegistry,
    private readonly config: Config,
    private readonly keys: CardKeys,
  ) {}

  /** @throws InvalidCards before anything listens, so that a bad definition never starts to serve. */
  async onModuleInit(): Promise<void> {
    await this.#build(NOT_YET_LISTENING);
  }

  /** Shows the cards, once the service listens and knows where. @throws InvalidCards */
  async publish(served: Served): Promise<void> {
    this.#cards = await this.#build(served);
  }

  /** The card at the agent's own address. @throws A2AError `notFound` for an unknown agent, `unavailable` before `publish`. */
  ofAgent(id: string): PublishedCard {
    const card = this.#published().byAgent.get(id);
    if (card === undefined) throw new A2AError('notFound', { message: 'There is no such agent' });
    return card;
  }

  /** The default agent's card, with the root addresses. @throws A2AError `unavailable` before `publish`. */
  atRoot(): PublishedCard {
    return this.#published().root;
  }

  /**
   * The answer to GetExtendedAgentCard. The capability decides before anything else (3.3.4).
   * @throws A2AError `unsupportedOperation` where the card declares no extended card.
   */
  extended(id: string): AgentCard {
    const { card } = this.ofAgent(id);
    if (!card.capabilities?.extendedAgentCard) {
      throw new A2AError('unsupportedOperation', { message: 'This agent has no extended card' });
    }
    throw new A2AError('extendedAgentCardNotConfigured');
  }

  #published(): Cards {
    if (this.#cards === undefined) throw new A2AError('unavailable', { retryAfter: 1 });
    return this.#cards;
  }

  async #build(served: Served): Promise<Cards> {
    const changed = new Date();
    const problems: string[] = [];
    const publish = async (agent: AgentDefinition, atRoot: boolean): Promise<PublishedCard> => {
      const isDefault = agent.id === this.agents.default.id;
      const card = agentCard({ agent, isDefault, atRoot }, served, this.config);
      if (!atRoot) problems.push(...cardProblems(card).map((problem) => `${agent.id}: ${problem}`));
      card.signatures = await signatures(card, this.keys.all, served.url + JWKS_PATH);
      return new PublishedCard(card, changed);
    };
    const own = this.agents.list().map(async (agent) => [agent.id, await publish(agent, false)] as const);
    const root = await publish(this.agents.default, true);
    const byAgent = new Map(await Promise.all(own));
    if (problems.length > 0) throw new InvalidCards(problems);
    return { root, byAgent };
  }
}
