import type { PeerCertificate } from 'node:tls';
import type { Credentials } from '../auth/index.js';
import type { ParameterSource } from '../protocol/index.js';

/**
 * The other end of a call. Its abort signal is made only when somebody asks for it: most calls are over before
 * anything could wait on them.
 */
export abstract class Caller implements Credentials, ParameterSource {
  /** When the call came in, as `performance.now()` has it. */
  readonly since = performance.now();
  #controller: AbortController | undefined;
  #dismissed = false;

  /** A header or metadata entry by its lower-case name; several of one name are joined with a comma. */
  abstract header(name: string): string | undefined;

  /** Where the client calls from, as far as proxies are trusted. */
  get address(): string | undefined {
    return undefined;
  }

  /** The client certificate of the connection, if it has been verified. */
  get certificate(): PeerCertificate | undefined {
    return undefined;
  }

  /** A query parameter; gRPC has none. */
  query(_name: string): string | undefined {
    return undefined;
  }

  /** Whether the client left, or its deadline passed, before the answer was complete. */
  abstract get gone(): boolean;

  /** Calls `left` once that happens. */
  protected abstract onGone(left: () => void): void;

  /** Aborts when the client has left, and when the service goes down. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.gone || this.#dismissed) this.#controller.abort();
      else this.onGone(() => this.dismiss());
    }
    return this.#controller.signal;
  }

  /** Ends the call from our side. */
  dismiss(): void {
    this.#dismissed = true;
    this.#controller?.abort();
  }
}
