import { Controller, Get, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Config, publicUrl } from '../config/index.js';
import { A2AError } from '../protocol/index.js';
import { RESOURCE_METADATA } from './challenge.js';
import { A2A_SCOPES } from './scope.js';

const PUBLIC = { 'access-control-allow-origin': '*', 'cache-control': 'public, max-age=300' };

/** Tells a client without a token who issues them (RFC 9728). Found by the challenge of a 401. */
@Controller()
export class ResourceController {
  constructor(private readonly config: Config) {}

  @Get(RESOURCE_METADATA)
  describe(@Req() { socket }: FastifyRequest, @Res() reply: FastifyReply): void {
    const { config } = this;
    if (config.oidcIssuers.length === 0) throw new A2AError('notFound');
    reply.headers(PUBLIC).send({
      resource: publicUrl(config, socket.localPort ?? config.httpPort),
      authorization_servers: config.oidcIssuers,
      scopes_supported: [...A2A_SCOPES].map((scope) => config.scopeNames[scope]),
      bearer_methods_supported: ['header'],
      resource_name: 'Parley',
    });
  }
}
