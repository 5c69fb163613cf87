import { z } from 'zod';
import { fetchFailure } from '../telemetry/index.js';

const Metadata = z.object({ issuer: z.string(), jwks_uri: z.url({ protocol: /^https?$/ }) });

/**
 * Asks an issuer where its keys are: OpenID Connect Discovery, else RFC 8414.
 * @throws Error when neither gives an answer, or the answer is another issuer's
 */
export async function discoverKeys(issuer: string, timeoutMs: number): Promise<URL> {
  const failures: string[] = [];
  for (const url of addresses(issuer)) {
    try {
      const response = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(timeoutMs) });
      if (!response.ok) throw new Error(`answered ${response.status}`);
      const metadata = Metadata.parse(await response.json());
      if (metadata.issuer !== issuer) throw new Error(`says its issuer is ${metadata.issuer}`);
      return keysAt(metadata.jwks_uri, issuer);
    } catch (error) {
      failures.push(`${url}: ${fetchFailure(error)}`);
    }
  }
  throw new Error(failures.join('; '));
}

function addresses(issuer: string): string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/+$/, '');
  return [
    `${origin}${path}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${path}`,
  ];
}

/** Keys of a secured issuer may not come over a line that anyone can change. */
function keysAt(url: string, issuer: string): URL {
  const keys = new URL(url);
  if (issuer.startsWith('https:') && keys.protocol !== 'https:')
    throw new Error('its keys are not at an https URL');
  return keys;
}
