import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Server as TlsServer } from 'node:tls';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../config/index.js';
import { Faults } from './faults.js';
import { bodyCollector } from './http.body.js';
import { HttpCaller } from './http.caller.js';
import { HttpFaults, httpAnswer } from './http.faults.js';
import type { TlsFiles } from './tls.files.js';

/** Ids may have 200 characters, each of them encoded. */
const LONGEST_PARAMETER = 1024;

/**
 * The verb that ends a path (`cancel` in `/tasks/t1:cancel`), which a route with one asks for. The router decodes
 * before it matches, but an encoded colon is part of the id.
 */
const LITERAL_VERB = {
  name: 'verb',
  storage: () => new Map(),
  deriveConstraint: ({ url }: IncomingMessage) => {
    const path = pathOf(url);
    const colon = path.lastIndexOf(':');
    return colon < 0 ? undefined : path.slice(colon + 1);
  },
};

/** A body may be large and its way slow, but nobody holds a connection by sending a byte now and then. */
const REQUEST_MS = 300_000;
/** No route has a schema: Fastify need not load what compiles them. */
const NO_SCHEMAS = { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } };

/** The HTTP server, to be given to `NestFactory.create` together with `bodyParser: false`. */
export function httpAdapter({ trustedProxies, maxBodyBytes }: Config, tls?: TlsFiles): FastifyAdapter {
  const adapter = new FastifyAdapter({
    https: tls ? { ...tls.context, ...tls.handshake } : null,
    bodyLimit: maxBodyBytes,
    requestTimeout: REQUEST_MS,
    trustProxy: trustedProxies.length > 0 ? [...trustedProxies] : false,
    forceCloseConnections: true,
    routerOptions: { maxParamLength: LONGEST_PARAMETER, constraints: { verb: LITERAL_VERB } },
    schemaController: NO_SCHEMAS,
    // No Nest middleware is used, and running none costs time too.
    skipMiddie: true,
    multipart: false,
    // Nest declares every path without a slash at its end; JSON-RPC is answered with one too.
    rewriteUrl: ({ url }: IncomingMessage) => (url ?? '/').replace(/\/jsonrpc\/(?=$|\?)/, '/jsonrpc'),
    frameworkErrors: refuseUrl,
    clientErrorHandler: refuseBytes,
  } as object);
  tls?.onChange((context) => (adapter.getHttpServer() as unknown as TlsServer).setSecureContext(context));
  return adapter;
}

/** Bodies of any type up to the limit, and an answer in JSON to whatever HTTP refuses. */
export function configureHttp(app: NestFastifyApplication, { maxBodyBytes }: Config): void {
  const fastify = app.getHttpAdapter().getInstance();
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser('*', bodyCollector(maxBodyBytes));
  app.useGlobalFilters(new HttpFaults(app.get(Faults)));
  app.getHttpServer().on('checkExpectation', refuseExpectation);
}

function noSchemas(): never {
  throw new Error('Routes have no schemas here');
}

const pathOf = (url: string | undefined) => (url ?? '').split('?', 1)[0] ?? '';

/** A path that does not decode, or an overlong part of it. */
function refuseUrl({ statusCode }: FastifyError, request: FastifyRequest, reply: FastifyReply): void {
  new HttpCaller(request, reply).answer(httpAnswer(pathOf(request.raw.url), statusCode ?? 400));
}

/** An `Expect` header that asks for more than 100-continue. */
function refuseExpectation(request: IncomingMessage, response: ServerResponse): void {
  const { status, type, body } = httpAnswer(pathOf(request.url), 417);
  const headers = { 'content-type': type, 'content-length': Buffer.byteLength(body) };
  response.writeHead(status, headers).end(body);
}

/** Bytes that are no HTTP request; where they were meant to go cannot be known. */
function refuseBytes({ code }: NodeJS.ErrnoException, socket: Socket): void {
  if (code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const timedOut = code === 'ERR_HTTP_REQUEST_TIMEOUT';
  const { status, type, body } = httpAnswer('', timedOut ? 408 : code === 'HPE_HEADER_OVERFLOW' ? 431 : 400);
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Connection: close',
    `Content-Type: ${type}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}
