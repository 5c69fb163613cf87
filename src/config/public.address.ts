import { isIPv6 } from 'node:net';
import type { Config } from './config.js';

type Listener = Pick<Config, 'host' | 'publicUrl' | 'publicGrpc'> & Partial<Pick<Config, 'tlsCert'>>;

/** Nobody can call these: a listener that takes all addresses is shown with the loopback one. */
const WILDCARDS: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/**
 * Base URL of the service as callers know it: the configured one, else where it listens. What a request says
 * (Host, X-Forwarded-*) never counts, so that nobody can poison a cached card.
 */
export function publicUrl({ publicUrl, host, tlsCert }: Listener, httpPort: number): string {
  return publicUrl ?? `${tlsCert ? 'https' : 'http'}://${authority(host, httpPort)}`;
}

/** `host:port` of the gRPC listener as callers know it. */
export function publicGrpc({ publicGrpc, host }: Listener, grpcPort: number): string {
  return publicGrpc ?? authority(host, grpcPort);
}

function authority(host: string, port: number): string {
  const address = WILDCARDS[host] ?? host;
  return `${isIPv6(address) ? `[${address}]` : address}:${port}`;
}
