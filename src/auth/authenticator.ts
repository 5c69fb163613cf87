import type { PeerCertificate } from 'node:tls';
import type { OperationName, Principal } from '../protocol/index.js';

/** What a caller shows of itself. Each binding gives its own: HTTP headers or gRPC metadata. */
export interface Credentials {
  /** The value of a header or metadata entry (name in lower case), or undefined. */
  header(name: string): string | undefined;
  /** Where the caller calls from, as far as proxies are trusted. */
  readonly address?: string;
  /** The client certificate of the connection, if it has been verified. */
  readonly certificate?: PeerCertificate;
}

/** Tells who calls. */
export abstract class Authenticator {
  /**
   * `operation` is what the caller wants, so that a challenge can name the scope to ask for.
   * @throws A2AError `unauthenticated` without a valid credential, `unavailable` when it cannot be checked now
   */
  abstract authenticate(credentials: Credentials, operation?: OperationName): Promise<Principal>;
}
