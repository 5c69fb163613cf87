import { type PeerCertificate, TLSSocket } from 'node:tls';
import type { FastifyRequest } from 'fastify';
import type { Credentials } from './authenticator.js';

/** What an HTTP request shows of its caller. */
export function httpCredentials(request: FastifyRequest): Credentials {
  return {
    header: (name) => request.headers[name]?.toString(),
    get address() {
      return request.ip;
    },
    get certificate() {
      return verifiedCertificate(request);
    },
  };
}

/** The client certificate of the connection; undefined where none was shown, or one that does not verify. */
export function verifiedCertificate({ raw: { socket } }: FastifyRequest): PeerCertificate | undefined {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined;
  const certificate = socket.getPeerCertificate();
  return certificate.raw && certificate;
}

/** Whether the caller wants to be known. Without a credential it can still see what is public. */
export const showsCredential = ({ header, certificate }: Credentials): boolean =>
  Boolean(header('authorization') || header('x-api-key') || certificate);
