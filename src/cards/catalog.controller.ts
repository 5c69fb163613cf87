import { Controller, Get, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AgentRegistry } from '../agents/index.js';
import type { Principal } from '../protocol/index.js';
import { CardReaders } from './card.readers.js';
import { CardService, skillsOpenTo } from './card.service.js';
import { type CatalogEntry, matches, pageOf, readQuery } from './catalog.page.js';

/** `GET /agents`: the agents that the caller may use, page by page, each with the address of its card. */
@Controller()
export class CatalogController {
  constructor(
    private readonly agents: AgentRegistry,
    private readonly cards: CardService,
    private readonly readers: CardReaders,
  ) {}

  @Get('/agents')
  async list(
    @Query() given: Record<string, unknown>,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const reader = await this.readers.readerOf(request);
    const query = readQuery(given);
    const entries = this.#entries(reader).filter((entry) => matches(entry, query));
    const page = pageOf(entries, query);
    const caching = reader ? 'private, no-store' : 'public, max-age=60';
    reply.headers({ 'cache-control': caching, vary: 'Authorization, X-API-Key' }).send(page);
  }

  #entries(reader: Principal | undefined): CatalogEntry[] {
    return this.agents
      .list()
      .filter((agent) => this.readers.mayList(reader, agent))
      .map((agent) => {
        const { id, name, description, version } = agent;
        const extended = reader ? skillsOpenTo(reader.scopes, agent) : [];
        const skills = [...agent.skills, ...extended.map(({ skill }) => skill)].map((skill) => ({
          ...{ id: skill.id ?? '', name: skill.name ?? '', description: skill.description ?? '' },
          tags: skill.tags ?? [],
        }));
        return { id, name, description, version, skills, card: this.cards.addressOf(id) };
      });
  }
}
