import type { FastifyRequest } from 'fastify';
import type { Credentials } from './authenticator.js';

/** What an HTTP request shows of its caller. */
export function httpCredentials(request: FastifyRequest): Credentials {
  return {
    header: (name) => request.headers[name]?.toString(),
    get address() {
      return request.ip;
    },
  };
}

/** Whether the caller wants to be known. Without a credential it can still see what is public. */
export const showsCredential = ({ header }: Credentials): boolean =>
  Boolean(header('authorization') || header('x-api-key'));
