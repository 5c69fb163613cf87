import type { JsonObject } from '@bufbuild/protobuf';
import canonicalize from 'canonicalize';
import { AgentCardSchema, decodeMessage } from '../protocol/index.js';
import { fetchFailure } from '../telemetry/index.js';
import { signedBytes } from './card.signature.js';

const WELL_KNOWN = '/.well-known/agent-card.json';
const PATIENCE_MS = 10_000;

export interface SignatureResult {
  readonly kid: string;
  /** Where the key is published. Whether its owner is to be trusted is for the reader to say. */
  readonly jku: string;
  /** Why the signature does not hold. Absent: it does. */
  readonly problem?: string;
}

interface Header {
  readonly kid?: string;
  readonly jku?: string;
  /** Seconds since 1970; not every signer gives one. */
  readonly exp?: number;
}

/**
 * Reads a card and verifies each of its signatures (specification 8.4) with the key that it names.
 *
 * @param url of the card, or of its server
 * @throws Error when there is no card
 */
export async function verifyCard(url: string): Promise<{ name: string; results: SignatureResult[] }> {
  const address = new URL(url).pathname === '/' ? new URL(WELL_KNOWN, url).href : url;
  const response = await fetch(address, {
    headers: { 'A2A-Version': '1.0', Accept: 'application/json' },
    signal: AbortSignal.timeout(PATIENCE_MS),
  }).catch((cause: unknown) => {
    throw new Error(`${address} cannot be read: ${fetchFailure(cause)}`, { cause });
  });
  if (!response.ok) throw new Error(`${address} answers ${response.status}`);
  const json = (await response.json()) as JsonObject;
  const card = decodeMessage(AgentCardSchema, json);
  const { signatures: _, ...unsigned } = json;
  // Servers differ in which defaults they keep: what they sent, or what the specification keeps of it.
  const payloads = [new TextEncoder().encode(canonicalize(unsigned)), signedBytes(card)];
  const results = card.signatures.map((signature) => verify(signature, payloads));
  return { name: card.name, results: await Promise.all(results) };
}

async function verify(
  { protected: header, signature }: { readonly protected: string; readonly signature: string },
  payloads: readonly Uint8Array[],
): Promise<SignatureResult> {
  const { createRemoteJWKSet, decodeProtectedHeader, flattenedVerify } = await import('jose');
  let place = { kid: '(no kid)', jku: '(no jku)' };
  try {
    const { kid, jku, exp } = decodeProtectedHeader({ protected: header }) as Header;
    place = { kid: kid ?? place.kid, jku: jku ?? place.jku };
    if (!jku) return { ...place, problem: 'names no key set' };
    if (exp !== undefined && exp * 1000 <= Date.now()) return { ...place, problem: 'has expired' };
    const keys = createRemoteJWKSet(new URL(jku), { timeoutDuration: PATIENCE_MS });
    const options = { algorithms: ['ES256', 'RS256'] };
    const holds = payloads.map((bytes) =>
      flattenedVerify(
        { protected: header, payload: Buffer.from(bytes).toString('base64url'), signature },
        keys,
        options,
      ),
    );
    await Promise.any(holds);
    return place;
  } catch (error) {
    const cause = error instanceof AggregateError ? error.errors[0] : error;
    return { ...place, problem: cause instanceof Error ? cause.message : String(cause) };
  }
}
