import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { asA2AError, toHttpError } from '../protocol/index.js';

/** Answers errors of the operators' API in the shape of the HTTP+JSON binding. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  catch(thrown: unknown, host: ArgumentsHost): void {
    const { status, headers, body } = toHttpError(asA2AError(thrown));
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    reply.code(status).headers(headers).type('application/json').send(JSON.stringify(body));
  }
}
