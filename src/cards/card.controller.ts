import { Controller, Get, Options, Param, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AgentRegistry, isPrivate } from '../agents/index.js';
import { noSuchAgent } from '../auth/index.js';
import { A2AError } from '../protocol/index.js';
import { CardReaders } from './card.readers.js';
import { CardService } from './card.service.js';
import type { CardForm, PublishedCard } from './published.card.js';

const ROOT = ['/.well-known/agent-card.json', '/.well-known/a2a/v1/agent-card.json'];
const PER_AGENT = [
  '/agents/:agent/card',
  '/agents/:agent/.well-known/agent-card.json',
  '/agents/:agent/.well-known/a2a/v1/agent-card.json',
];
const PER_VERSION = PER_AGENT.map((path) => path.replace(':agent', ':agent/versions/:version'));
/** Where clients of 0.3 look for it. */
const LEGACY_ROOT = '/v1/card';
const LEGACY_PER_AGENT = ['/agents/:agent/v1/card', '/agents/:agent/versions/:version/v1/card'];

/** Any web page may read a public card: it holds no secret and takes no credential (specification 8.2). */
const CORS = { 'access-control-allow-origin': '*', 'access-control-expose-headers': 'ETag' };
const PREFLIGHT = {
  ...CORS,
  'access-control-allow-methods': 'GET, HEAD, OPTIONS',
  'access-control-allow-headers': 'A2A-Version, A2A-Extensions, If-None-Match, If-Modified-Since',
  'access-control-max-age': '86400',
  allow: 'GET, HEAD, OPTIONS',
};
const PUBLIC = { ...CORS, 'cache-control': 'public, max-age=300', vary: 'A2A-Version' };
const PRIVATE = { 'cache-control': 'private, max-age=300', vary: 'A2A-Version, Authorization, X-API-Key' };

/** What the address names. */
interface Named {
  readonly agent: string;
  readonly version?: string;
}

interface Showing {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  /** Picks what the address is for. */
  readonly form: (card: PublishedCard) => CardForm;
}

/** Serves the cards where discovery looks for them (specification 8.2, 8.6). Fastify adds HEAD to each GET. */
@Controller()
export class CardController {
  constructor(
    private readonly cards: CardService,
    private readonly agents: AgentRegistry,
    private readonly readers: CardReaders,
  ) {}

  @Get(ROOT)
  root(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.#show(undefined, { request, reply, form: (card) => formFor(request, card) });
  }

  @Get([...PER_AGENT, ...PER_VERSION])
  perAgent(@Param() named: Named, @Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.#show(named, { request, reply, form: (card) => formFor(request, card) });
  }

  @Get(LEGACY_ROOT)
  legacyRoot(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.#show(undefined, { request, reply, form: legacyOf });
  }

  @Get(LEGACY_PER_AGENT)
  legacyPerAgent(
    @Param() named: Named,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    return this.#show(named, { request, reply, form: legacyOf });
  }

  @Options([...ROOT, ...PER_AGENT, ...PER_VERSION, LEGACY_ROOT, ...LEGACY_PER_AGENT])
  preflight(@Res() reply: FastifyReply): void {
    reply.code(204).headers(PREFLIGHT).send();
  }

  /** The card of an agent or version; of the default one, as it stands at the root, without a name. */
  async #show(named: Named | undefined, { request, reply, form }: Showing): Promise<void> {
    const card = named === undefined ? this.cards.atRoot() : this.cards.ofAgent(named.agent, named.version);
    const agent = named === undefined ? this.agents.default : this.agents.get(named.agent, named.version);
    // A card is kept under a name that is no address (`agent@version`), and a moment longer than its agent.
    if (agent === undefined) throw noSuchAgent(named!.agent);
    await this.readers.check(request, agent);
    reply.headers(isPrivate(agent) ? PRIVATE : PUBLIC);
    send(form(card), request, reply);
  }
}

/** Who asks for 0.3 gets that alone where it is served; nobody else has to say what they read. */
function formFor({ headers, query }: FastifyRequest, { current, legacy }: PublishedCard): CardForm {
  const asked = headers['a2a-version'] || (query as Record<string, unknown>)['A2A-Version'];
  return legacy && /^\s*0\.3(\.\d+)?\s*$/.test(String(asked)) ? legacy : current;
}

function legacyOf({ legacy }: PublishedCard): CardForm {
  if (!legacy) throw new A2AError('notFound', { message: 'This agent is not served in A2A 0.3' });
  return legacy;
}

function send(card: CardForm, { headers }: FastifyRequest, reply: FastifyReply): void {
  reply.headers({ etag: card.etag, 'last-modified': card.lastModified });
  const held = card.isHeldBy({
    ifNoneMatch: headers['if-none-match'],
    ifModifiedSince: headers['if-modified-since'],
  });
  if (held) reply.code(304).send();
  else reply.type('application/json').send(card.body);
}
