import { type LookupAddress, type LookupAllOptions, lookup } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';

const HOSTS_FILE = '/etc/hosts';
/** Of the first of two questions to a name server, milliseconds; the second waits longer. */
const ANSWER_MS = 1_000;
/** DNS does not have the name, or is not there: the system may know more, and says so at once. */
const UNKNOWN = new Set(['ENOTFOUND', 'ENODATA', 'ECONNREFUSED']);

export type LookupDone = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void;
/** As `dns.lookup` with all addresses. */
export type Lookup = (host: string, options: LookupAllOptions, done: LookupDone) => void;

/**
 * The addresses of receivers' names, as the system has them. But the system's own look-up holds one of four threads, which
 * the whole service shares, for as long as a name server does not answer, and callers choose the names: so DNS is asked
 * directly, and the system for what only it can know, which are the names of the hosts file and of search domains.
 */
export class ReceiverNames {
  readonly #dns = new Resolver({ timeout: ANSWER_MS, tries: 2 });

  /** `servers`: name servers, `address:port`; the system's when left out. */
  constructor(servers?: readonly string[]) {
    if (servers) this.#dns.setServers(servers);
  }

  readonly lookup: Lookup = (host, options, done) => {
    this.#addresses(host).then(
      (found) => (found.length > 0 ? done(null, found) : lookup(host, { ...options, all: true }, done)),
      (error) => done(error, []),
    );
  };

  /** None where the system is to be asked. */
  async #addresses(host: string): Promise<LookupAddress[]> {
    if (!host.includes('.') || (await isInHostsFile(host))) return [];
    const answers = await Promise.allSettled([
      this.#dns.resolve4(host).then((found) => found.map((address) => ({ address, family: 4 }))),
      this.#dns.resolve6(host).then((found) => found.map((address) => ({ address, family: 6 }))),
    ]);
    const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    const failure = answers.find(
      (answer) => answer.status === 'rejected' && !UNKNOWN.has(answer.reason.code),
    );
    if (found.length === 0 && failure?.status === 'rejected') throw failure.reason;
    return found;
  }
}

async function isInHostsFile(host: string): Promise<boolean> {
  const text = await readFile(HOSTS_FILE, 'utf8').catch(() => '');
  return text.toLowerCase().split(/\s+/).includes(host.toLowerCase());
}
