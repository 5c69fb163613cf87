import { Controller, Get, Header, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Config, publicUrl } from '../config/index.js';
import { A2AError, toHttpError } from '../protocol/index.js';
import { RESOURCE_METADATA } from './challenge.js';
import { A2A_SCOPES } from './scope.js';

/** Tells a client without a token who issues them (RFC 9728). Found by the challenge of a 401. */
@Controller()
export class ResourceController {
  constructor(private readonly config: Config) {}

  @Get(RESOURCE_METADATA)
  @Header('Access-Control-Allow-Origin', '*')
  describe(@Req() { socket }: FastifyRequest, @Res() reply: FastifyReply): void {
    const { config } = this;
    if (config.oidcIssuers.length === 0) {
      const { status, body } = toHttpError(new A2AError('notFound'));
      reply.code(status).send(body);
      return;
    }
    reply.header('cache-control', 'public, max-age=300').send({
      resource: publicUrl(config, socket.localPort ?? config.httpPort),
      authorization_servers: config.oidcIssuers,
      scopes_supported: [...A2A_SCOPES].map((scope) => config.scopeNames[scope]),
      bearer_methods_supported: ['header'],
      resource_name: 'Parley',
    });
  }
}
