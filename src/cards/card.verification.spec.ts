import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import canonicalize from 'canonicalize';
import { type CryptoKey, exportJWK, FlattenedSign, generateKeyPair, type JWK } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifyCard } from './card.verification.js';

const CARD = {
  name: 'Übersetzer',
  description: 'Translates',
  version: '1.0.0',
  supportedInterfaces: [{ url: 'https://a.example', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  capabilities: {},
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 'a', name: 'A', description: 'Does a', tags: ['x'] }],
};
const server = createServer((request, response) => {
  const body = request.url === '/jwks.json' ? { keys } : card;
  response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
});
let url: string;
let keys: JWK[];
let card: object;
let good: CryptoKey;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const pair = await generateKeyPair('ES256');
  good = pair.privateKey;
  keys = [{ ...(await exportJWK(pair.publicKey)), kid: 'good', alg: 'ES256' }];
});
afterAll(() => server.close());

/** What the verifier says of a card with one signature of this header. */
async function verdict(header: object, key: CryptoKey | Uint8Array = good, shown: object = CARD) {
  const payload = new TextEncoder().encode(canonicalize(CARD));
  const protectedHeader = { alg: 'ES256', typ: 'JOSE', kid: 'good', jku: `${url}/jwks.json`, ...header };
  const signed = await new FlattenedSign(payload).setProtectedHeader(protectedHeader).sign(key);
  card = { ...shown, signatures: [{ protected: signed.protected, signature: signed.signature }] };
  return (await verifyCard(`${url}/card`)).results[0]?.problem;
}

describe('The verifier of cards (S002-048)', () => {
  it('takes a card that is as it was signed', async () => {
    expect(await verdict({})).toBeUndefined();
    expect(await verdict({ exp: Math.floor(Date.now() / 1000) + 60 })).toBeUndefined();
  });

  it('refuses one that was changed, of another key, or of a key that is not published', async () => {
    const { privateKey } = await generateKeyPair('ES256');
    expect(await verdict({}, good, { ...CARD, name: 'Übersetzer.' })).toBeDefined();
    expect(await verdict({}, privateKey)).toBeDefined();
    expect(await verdict({ kid: 'nobody' })).toBeDefined();
  });

  it('refuses one whose signature has expired', async () => {
    expect(await verdict({ exp: Math.floor(Date.now() / 1000) - 1 })).toContain('expired');
  });

  it('refuses a signature without a key set, and by any algorithm but ES256 and RS256', async () => {
    expect(await verdict({ jku: undefined })).toContain('names no key set');
    const shared = new TextEncoder().encode('a secret that both sides know of');
    expect(await verdict({ alg: 'HS256' }, shared)).toBeDefined();
    const none = Buffer.from(JSON.stringify({ alg: 'none', kid: 'good', jku: `${url}/jwks.json` }));
    card = { ...CARD, signatures: [{ protected: none.toString('base64url'), signature: '' }] };
    expect((await verifyCard(`${url}/card`)).results[0]?.problem).toBeDefined();
  });
});
