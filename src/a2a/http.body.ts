import type { IncomingMessage } from 'node:http';
import type { JsonValue } from '@bufbuild/protobuf';
import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { Config } from '../config/index.js';
import { A2AError, excerpt, parseJson } from '../protocol/index.js';

/** Reads the JSON bodies of the two HTTP bindings. */
@Injectable()
export class JsonBody {
  constructor(private readonly config: Config) {}

  /**
   * The body, or undefined when there is none.
   * @throws A2AError `contentTypeNotSupported`, `parseError`, or `invalidParams` when it is too deep or has too many values
   */
  read(request: FastifyRequest, accepted: ReadonlySet<string>): JsonValue | undefined {
    const body = request.body as Buffer | undefined;
    if (body === undefined || body.length === 0) return undefined;
    const encoding = request.headers['content-encoding'];
    if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
      throw new A2AError('contentTypeNotSupported', {
        message: 'Send the body as it is, without a Content-Encoding',
        metadata: { contentEncoding: excerpt(encoding) },
      });
    }
    const given = request.headers['content-type'] ?? '';
    const mediaType = given.split(';', 1)[0]?.trim().toLowerCase() ?? '';
    if (!accepted.has(mediaType)) {
      throw new A2AError('contentTypeNotSupported', {
        message: `Send the body as ${[...accepted].join(' or ')}`,
        metadata: { contentType: excerpt(given) },
      });
    }
    // The request lives as long as its answer, which may be a stream of hours: its bytes need not.
    request.body = undefined;
    return parseJson(body, { maxDepth: this.config.maxJsonDepth, maxValues: mostValues(this.config) });
  }
}

/** What is not data may have as many again; which field has too many is said once the request is read. */
export const mostValues = ({ maxJsonValues }: Config) => 2 * maxJsonValues;

type Done = (error: Error | null, body?: Buffer) => void;

/**
 * Collects a request's body, of any media type, up to `limit` bytes. One that is larger is read to its end and
 * dropped before it is refused, so that the client hears the answer and can go on with the connection; beyond
 * twice the limit it is refused at once.
 */
export function bodyCollector(limit: number) {
  return (_request: FastifyRequest, payload: IncomingMessage, done: Done): void => {
    const chunks: Buffer[] = [];
    let size = 0;
    const finish = (error: Error | null, body?: Buffer) => {
      payload.off('data', onData).off('end', onEnd).off('error', onError);
      done(error, body);
    };
    const refuse = () =>
      finish(
        new A2AError('payloadTooLarge', {
          message: `The body is larger than ${limit} bytes`,
          metadata: { limit: String(limit) },
        }),
      );
    const onData = (chunk: Buffer) => {
      size += chunk.length;
      if (size <= limit) chunks.push(chunk);
      else if (size > 2 * limit) refuse();
    };
    const onEnd = () => {
      if (size > limit) refuse();
      else finish(null, chunks.length === 1 ? chunks[0] : Buffer.concat(chunks, size));
    };
    const onError = (cause: Error) =>
      finish(new A2AError('invalidRequest', { message: 'The body broke off', cause }));
    if (Number(payload.headers['content-length']) > 2 * limit) refuse();
    else payload.on('data', onData).on('end', onEnd).on('error', onError);
  };
}
