import type { PeerCertificate } from 'node:tls';
import type { Credentials } from '../auth/index.js';
import type { ParameterSource } from '../protocol/index.js';

/**
 * The other end of a call. What waits for its end is made only when somebody asks for it: most calls are over before
 * anything could wait on them, and an idle stream needs no more than one function.
 */
export abstract class Caller implements Credentials, ParameterSource {
  /** When the call came in, as `performance.now()` has it. */
  readonly since = performance.now();
  #controller: AbortController | undefined;
  #stop: (() => void) | undefined;
  #watched = false;
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

  /** Calls `look` when that may have happened. */
  protected abstract onGone(look: () => void): void;

  /** Whether the call is to end: the client has left, or we have dismissed it. */
  get over(): boolean {
    return this.#dismissed || this.gone;
  }

  /** Calls `stop` when the call is over, at once if it is. There is one at a time, the latest. */
  onOver(stop: () => void): void {
    this.#stop = stop;
    if (this.over) stop();
    else this.#watch();
  }

  /** Aborts when the call is over. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.over) this.#controller.abort();
      else this.#watch();
    }
    return this.#controller.signal;
  }

  /** Ends the call from our side. */
  dismiss(): void {
    this.#dismissed = true;
    this.#controller?.abort();
    this.#stop?.();
  }

  #watch(): void {
    if (this.#watched) return;
    this.#watched = true;
    this.onGone(() => {
      if (this.gone) this.dismiss();
    });
  }
}
