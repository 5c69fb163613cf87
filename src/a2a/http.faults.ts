import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { A2AError, type ErrorKind } from '../protocol/index.js';
import type { Fault, Faults } from './faults.js';
import { type HttpAnswer, HttpCaller } from './http.caller.js';
import { errorAnswer as jsonRpcAnswer } from './jsonrpc/index.js';
import { methodsAt, errorAnswer as restAnswer } from './rest/index.js';
import { restErrorAnswer } from './v03/index.js';

const BINDING = /^(?:\/agents\/[^/]+(?:\/versions\/[^/]+)?)?\/(jsonrpc|rest)(?:\/|$)/;
const V03 = /^(?:\/agents\/[^/]+(?:\/versions\/[^/]+)?)?\/rest\/v1\//;
const JSONRPC = /^(?:\/agents\/[^/]+(?:\/versions\/[^/]+)?)?\/jsonrpc\/?$/;

/** What our table calls an HTTP status that the server gave by itself. */
const KINDS: Readonly<Record<number, ErrorKind>> = {
  404: 'notFound',
  405: 'methodNotAllowed',
  413: 'payloadTooLarge',
  415: 'contentTypeNotSupported',
};

/** Answers what fails before or beside the bindings' own handlers. */
@Catch()
export class HttpFaults implements ExceptionFilter {
  constructor(private readonly faults: Faults) {}

  catch(thrown: unknown, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<FastifyRequest>();
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    const path = request.url.split('?', 1)[0] ?? '';
    const caller = new HttpCaller(request, reply);
    const status = thrown instanceof HttpException ? thrown.getStatus() : undefined;
    if (status !== undefined && status !== 404 && !BINDING.test(path)) {
      reply.code(status).send((thrown as HttpException).getResponse());
    } else if (status === undefined) {
      // Fastify would close the connection after a body it could not take; one read to its end leaves it usable.
      if (request.raw.complete) reply.removeHeader('connection');
      caller.answer(inShapeOf(path, this.faults.report(thrown, { caller })));
    } else {
      const methods = status === 404 ? methodsOf(path) : [];
      if (methods.length > 0) reply.header('allow', methods.join(', '));
      caller.answer(httpAnswer(path, methods.length > 0 ? 405 : status));
    }
  }
}

/** The answer to a request that the HTTP server refused by itself, in the shape of the binding that was meant. */
export function httpAnswer(path: string, status: number): HttpAnswer {
  const error = new A2AError(KINDS[status] ?? 'invalidRequest');
  return inShapeOf(path, { error }, error.kind === 'contentTypeNotSupported' ? undefined : status);
}

function inShapeOf(path: string, fault: Fault, status?: number): HttpAnswer {
  if (BINDING.exec(path)?.[1] === 'jsonrpc') return jsonRpcAnswer('null', fault, status);
  return V03.test(path) ? restErrorAnswer(fault, status) : restAnswer(fault, status);
}

const methodsOf = (path: string) => (JSONRPC.test(path) ? ['POST'] : methodsAt(path));
