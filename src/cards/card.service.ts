import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { type AgentDefinition, AgentRegistry, type ExtendedSkill } from '../agents/index.js';
import { noSuchAgent } from '../auth/index.js';
import { Config } from '../config/index.js';
import { A2AError, type AgentCard } from '../protocol/index.js';
import { agentCard, type WantedCard } from './agent.card.js';
import { CardKeys } from './card.keys.js';
import { cardProblems } from './card.problems.js';
import { signatures } from './card.signature.js';
import { JWKS_PATH } from './jwks.controller.js';
import { PublishedCard } from './published.card.js';
import type { AgentPlace, Served } from './served.js';

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
  readonly served: Served;
  /** Made when the first one asks. */
  readonly extended: Map<string, Promise<AgentCard>>;
  readonly root: PublishedCard;
  /** Under `agent` at the plain address, and under `agent@version`. */
  readonly byName: ReadonlyMap<string, PublishedCard>;
}

/** An agent, or a version of it. */
export interface CardName {
  readonly agent: string;
  readonly agentVersion?: string;
}

/** The cards, built and checked once. */
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

  /** Shows the cards, once the service listens and knows where, and after each change of the agents. @throws InvalidCards */
  async publish(served: Served): Promise<void> {
    this.#cards = await this.#build(served);
    this.agents.onChange(() => {
      this.#build(served).then(
        (cards) => {
          this.#cards = cards;
        },
        (error: unknown) =>
          LOG.error({ message: 'The cards of the changed agents are not shown', cause: error }),
      );
    });
  }

  /**
   * The card at the agent's plain address, or at that of one of its versions.
   * @throws A2AError `notFound` for an unknown agent or version, `unavailable` before `publish`.
   */
  ofAgent(agent: string, agentVersion?: string): PublishedCard {
    const name = nameOf({ agent, agentVersion });
    const card = this.#published().byName.get(name);
    if (card === undefined) throw noSuchAgent(name);
    return card;
  }

  /** The default agent's card, with the root addresses. @throws A2AError `unavailable` before `publish`. */
  atRoot(): PublishedCard {
    return this.#published().root;
  }

  /** The address of the card that {@link ofAgent} gives. @throws A2AError `unavailable` before `publish`. */
  addressOf(id: string): string {
    return `${this.#published().served.url}/agents/${id}/.well-known/agent-card.json`;
  }

  /**
   * The answer to GetExtendedAgentCard (3.1.11) for a caller with these scopes: the public card and the skills
   * that they open. One card for all callers who see the same.
   *
   * @throws A2AError `unsupportedOperation` where the card declares no extended card,
   *   `extendedAgentCardNotConfigured` where it does and there is nothing on it
   */
  async extended(name: CardName, scopes: ReadonlySet<string>): Promise<AgentCard> {
    const { extended, served } = this.#published();
    const agent = this.agents.get(name.agent, name.agentVersion);
    if (agent?.extendedSkills === undefined) {
      throw new A2AError('unsupportedOperation', { message: 'This agent has no extended card' });
    }
    if (agent.extendedSkills.length === 0) throw new A2AError('extendedAgentCardNotConfigured');
    const extendedSkills = skillsOpenTo(scopes, agent);
    const key = JSON.stringify([nameOf(name), extendedSkills.map(({ skill }) => skill.id)]);
    let card = extended.get(key);
    if (card === undefined) {
      const place = name.agentVersion === undefined ? 'plain' : 'version';
      card = this.#card({ agent, extendedSkills, isDefault: this.#isDefault(agent), place }, served);
      extended.set(key, card);
    }
    return card;
  }

  #published(): Cards {
    if (this.#cards === undefined) throw new A2AError('unavailable', { retryAfter: 1 });
    return this.#cards;
  }

  async #build(served: Served): Promise<Cards> {
    const changed = new Date();
    const problems: string[] = [];
    const publish = async (agent: AgentDefinition, place: AgentPlace): Promise<PublishedCard> => {
      const wanted = { agent, isDefault: this.#isDefault(agent), place };
      // What is wrong with a skill is to be known at start, whoever may see it.
      const whole = agentCard({ ...wanted, extendedSkills: agent.extendedSkills }, served, this.config);
      if (place === 'version')
        problems.push(...cardProblems(whole).map((problem) => `${agent.id}: ${problem}`));
      const card = new PublishedCard(await this.#card(wanted, served), changed);
      const before = place === 'root' ? this.#cards?.root : this.#cards?.byName.get(nameAt(agent, place));
      return before?.current.etag === card.current.etag ? before : card;
    };
    const current = this.agents.list().map((agent) => [agent, 'plain'] as const);
    const versions = this.agents
      .list()
      .flatMap(({ id }) => this.agents.versions(id).map((agent) => [agent, 'version'] as const));
    const own = [...current, ...versions].map(
      async ([agent, place]) => [nameAt(agent, place), await publish(agent, place)] as const,
    );
    const root = await publish(this.agents.default, 'root');
    const byName = new Map(await Promise.all(own));
    if (problems.length > 0) throw new InvalidCards(problems);
    return { root, byName, served, extended: new Map() };
  }

  async #card(wanted: WantedCard, served: Served): Promise<AgentCard> {
    const card = agentCard(wanted, served, this.config);
    card.signatures = await signatures(card, this.keys.all, served.url + JWKS_PATH);
    return card;
  }

  #isDefault(agent: AgentDefinition): boolean {
    return agent.id === this.agents.default.id;
  }
}

const nameOf = ({ agent, agentVersion }: CardName) =>
  agentVersion === undefined ? agent : `${agent}@${agentVersion}`;

const nameAt = ({ id, version }: AgentDefinition, place: AgentPlace) =>
  nameOf({ agent: id, agentVersion: place === 'version' ? version : undefined });

/** The skills beside the public ones that a holder of these scopes sees. */
export function skillsOpenTo(
  scopes: ReadonlySet<string>,
  { extendedSkills = [] }: AgentDefinition,
): readonly ExtendedSkill[] {
  return extendedSkills.filter(({ scope }) => scope === undefined || scopes.has(scope));
}

const LOG = new Logger('Cards');
