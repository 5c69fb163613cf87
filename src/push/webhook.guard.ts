import type { LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { AllowList, isPublic } from './address.rules.js';
import { type Lookup, ReceiverNames } from './receiver.names.js';

const LONGEST_URL = 2_048;
/** Addresses that were let through and are remembered. */
const MOST_KNOWN = 1_000;
/** What a registration waits for a name server; the address is looked at again on every try. */
const LOOKUP_MS = 2_000;
/** Names that mean this machine or its neighbours on any resolver (RFC 6761, RFC 6762, RFC 8375). */
const INSIDE = /(^|\.)(localhost|local|internal|home\.arpa|localdomain)$/;

/** A webhook address that may not be posted to. The message may be shown to whoever registered it. */
export class ForbiddenUrl extends Error {
  override name = 'ForbiddenUrl';
}

/**
 * Keeps pushes out of the internal network (specification 13.2). The URL is checked when it is registered and
 * on every try; the addresses of its name are checked again inside the connection's own look-up, so that a name
 * that has changed its address since goes nowhere. One forbidden address of a name is enough to refuse it.
 */
export class WebhookGuard {
  readonly #allowed: AllowList;
  /** The rules do not change while the service runs: what was let through once is not looked at again. */
  readonly #known = new Map<string, URL>();

  constructor(
    allow: readonly string[],
    private readonly resolve: Lookup = new ReceiverNames().lookup,
  ) {
    this.#allowed = new AllowList(allow);
  }

  /** Checks what can be seen of the URL without a look-up. @throws ForbiddenUrl */
  parse(text: string): Readonly<URL> {
    const known = this.#known.get(text);
    if (known) return known;
    const url = this.#checked(text);
    if (this.#known.size >= MOST_KNOWN) this.#known.clear();
    this.#known.set(text, url);
    return url;
  }

  #checked(text: string): URL {
    if (text.length > LONGEST_URL || !URL.canParse(text)) throw new ForbiddenUrl('is not a URL');
    const url = new URL(text);
    const host = hostOf(url);
    if (url.protocol !== 'https:' && url.protocol !== 'http:')
      throw new ForbiddenUrl('must begin with https:');
    if (url.username || url.password) throw new ForbiddenUrl('must not contain a user or password');
    if (url.hash) throw new ForbiddenUrl('must not contain a fragment');
    if (isIP(host)) this.#checkAddress(host, host);
    else if (INSIDE.test(host) && !this.#allowed.hasHost(host)) throw forbidden();
    if (url.protocol === 'http:' && !this.#isOpened(host)) throw new ForbiddenUrl('must begin with https:');
    return url;
  }

  /** {@link parse}, and looks the name up. One that nobody knows yet is left to the tries. @throws ForbiddenUrl */
  async check(text: string): Promise<Readonly<URL>> {
    const url = this.parse(text);
    const host = hostOf(url);
    for (const { address } of isIP(host) ? [] : await this.#addresses(host))
      this.#checkAddress(address, host);
    return url;
  }

  /** For the connection: answers only with addresses that may be connected to. */
  readonly lookup: LookupFunction = (host, options, done) => {
    this.resolve(host, { ...options, all: true }, (error, addresses) => {
      if (error) return done(error, '');
      try {
        for (const { address } of addresses) this.#checkAddress(address, host);
      } catch (refusal) {
        return done(refusal as Error, '');
      }
      if (options.all) return done(null, addresses);
      const [first] = addresses;
      return first ? done(null, first.address, first.family) : done(new ForbiddenUrl('has no address'), '');
    });
  };

  #checkAddress(address: string, host: string): void {
    if (isPublic(address) || this.#allowed.hasAddress(address) || this.#allowed.hasHost(bare(host))) return;
    throw forbidden();
  }

  /** Plain http is for hosts that the operator has opened by name or address. */
  #isOpened(host: string): boolean {
    return this.#allowed.hasHost(host) || (isIP(host) !== 0 && this.#allowed.hasAddress(host));
  }

  #addresses(host: string): Promise<LookupAddress[]> {
    return new Promise((done) => {
      const timer = setTimeout(() => done([]), LOOKUP_MS);
      this.resolve(host, { all: true }, (error, addresses) => {
        clearTimeout(timer);
        done(error ? [] : addresses);
      });
    });
  }
}

const forbidden = () => new ForbiddenUrl('must not lead to this service or its network');

/** The host without brackets and without the dot that may end a name. */
const hostOf = ({ hostname }: Readonly<URL>) => bare(hostname.replace(/^\[(.*)\]$/, '$1'));
const bare = (host: string) => host.toLowerCase().replace(/\.$/, '');
