import { readFileSync } from 'node:fs';
import type { JsonObject } from '@bufbuild/protobuf';
import { Controller, Get, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { AgentRegistry } from '../agents/index.js';
import { CardService } from '../cards/index.js';
import { Config, packageVersion } from '../config/index.js';
import { encodeMessage, openApiDocument, protoComments, SecuritySchemeSchema } from '../protocol/index.js';
import { PAGE_HEADERS } from './html.page.js';
import { openApiPage } from './openapi.page.js';

const CACHING = { 'cache-control': 'public, max-age=300', 'access-control-allow-origin': '*' };

/** The HTTP+JSON binding described: for tools at `/openapi.json`, for people at `/docs`. */
@Controller()
export class OpenApiController {
  #made: { readonly json: string; readonly page: string } | undefined;

  constructor(
    private readonly agents: AgentRegistry,
    private readonly cards: CardService,
    private readonly config: Config,
  ) {}

  @Get('openapi.json')
  json(@Res() reply: FastifyReply): void {
    reply.headers(CACHING).type('application/json').send(this.made.json);
  }

  @Get('docs')
  page(@Res() reply: FastifyReply): void {
    reply.headers(PAGE_HEADERS).type('text/html; charset=utf-8').send(this.made.page);
  }

  private get made() {
    if (!this.#made) {
      const document = this.document();
      this.#made = { json: JSON.stringify(document), page: openApiPage(document) };
    }
    return this.#made;
  }

  private document(): JsonObject {
    const { id: first } = this.agents.default;
    const all = this.agents.list();
    return openApiDocument({
      release: packageVersion(),
      agents: [first, ...all.map(({ id }) => id).filter((id) => id !== first)],
      url: this.config.publicUrl ?? '',
      v03: all.some(({ settings }) => settings.v03),
      securitySchemes: this.securitySchemes(),
      comments: commentsIn('a2a.proto'),
      v03Comments: commentsIn('a2a_v03.proto'),
    });
  }

  /** The card's schemes: A2A has them from OpenAPI, and names their kinds by the field. */
  private securitySchemes(): Record<string, JsonObject> {
    const schemes = Object.entries(this.cards.atRoot().card.securitySchemes);
    return Object.fromEntries(
      schemes.map(([name, scheme]) => {
        const [[kind, value]] = Object.entries(encodeMessage(SecuritySchemeSchema, scheme)) as [
          [string, JsonObject],
        ];
        const { location, ...rest } = value;
        const type = kind
          .replace(/SecurityScheme$/, '')
          .replace('httpAuth', 'http')
          .replace('mtls', 'mutualTLS');
        return [name, { type, ...rest, ...(location ? { in: location } : {}) }];
      }),
    );
  }
}

/** The protos are beside the build in every package of the service. */
const commentsIn = (file: string) =>
  protoComments(readFileSync(new URL(`../../proto/${file}`, import.meta.url), 'utf8'));
