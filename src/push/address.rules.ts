import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** All of the routed IPv6 internet. Outside it lie `::/96` and other forms that hide an IPv4 address. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');
/** Public by its number, but the inside of a cloud by its use. */
const CLOUD_INSIDE = new Set(['168.63.129.16']);

/**
 * Whether an address belongs to the public internet. Everything else is refused, so that a range nobody has
 * thought of is refused too: loopback, private, shared, link-local, multicast, reserved, and IPv6 forms that
 * carry an IPv4 address.
 */
export function isPublic(address: string): boolean {
  const parsed = parse(address);
  if (parsed?.range() !== 'unicast') return false;
  return parsed.kind() === 'ipv4'
    ? !CLOUD_INSIDE.has(parsed.toString())
    : (parsed as ipaddr.IPv6).match(GLOBAL_UNICAST);
}

/** Internal receivers that the operator has opened: hosts, `*.domains`, addresses and CIDR blocks. */
export class AllowList {
  readonly #hosts = new Set<string>();
  readonly #domains: string[] = [];
  readonly #blocks: [Address, number][] = [];

  constructor(entries: readonly string[]) {
    for (const entry of entries) {
      if (ipaddr.isValidCIDR(entry)) this.#blocks.push(ipaddr.parseCIDR(entry));
      else if (ipaddr.isValid(entry)) this.#blocks.push(ipaddr.parseCIDR(`${entry}/${bits(entry)}`));
      else if (entry.startsWith('*.')) this.#domains.push(entry.slice(1).toLowerCase());
      else this.#hosts.add(entry.toLowerCase());
    }
  }

  hasHost(host: string): boolean {
    return this.#hosts.has(host) || this.#domains.some((domain) => host.endsWith(domain));
  }

  hasAddress(address: string): boolean {
    const parsed = parse(address);
    return (
      parsed !== undefined &&
      this.#blocks.some(([block, length]) => block.kind() === parsed.kind() && parsed.match([block, length]))
    );
  }
}

function parse(address: string): Address | undefined {
  return ipaddr.isValid(address) ? ipaddr.parse(address) : undefined;
}

const bits = (address: string) => (ipaddr.parse(address).kind() === 'ipv4' ? 32 : 128);
