import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BINDINGS, callAny } from '../support/any.binding.js';
import { grpcClient, metadata, unary } from '../support/bindings.js';
import { AUDIENCE, OidcIssuer } from '../support/oidc.issuer.js';
import { type RunningService, startService } from '../support/service.js';

const AGENT = `id: books
name: Books
description: Keeps the books
skills:
  - { id: read, name: Read, description: Reads the books, tags: [books] }
  - { id: audit, name: Audit, description: Checks the books, tags: [books], scope: books.audit }
  - { id: close, name: Close, description: Closes a year, tags: [books], scope: books.close }
backend:
  kind: openai
  baseUrl: http://ledger.internal:9000/v1
  apiKey: \${env:LEDGER_KEY}
  model: secret-model
`;

let issuer: OidcIssuer;
let service: RunningService;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'parley-extended-'));
  writeFileSync(join(folder, 'books.yaml'), AGENT);
  issuer = await OidcIssuer.start('ES256');
  service = await startService({
    env: {
      PARLEY_OIDC_ISSUERS: issuer.url,
      PARLEY_OIDC_AUDIENCE: AUDIENCE,
      PARLEY_AGENTS: 'echo',
      PARLEY_AGENTS_DIR: folder,
      LEDGER_KEY: 'sk-of-the-ledger',
    },
  });
});
afterAll(async () => {
  await service?.stop();
  await issuer?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const token = async (scope: string) => ({
  authorization: `Bearer ${await issuer.forge({ claims: { scope } })}`,
});

interface Card {
  readonly skills: readonly { readonly id: string }[];
  readonly capabilities: object;
}

describe.each(BINDINGS)('The extended card of a running service on %s', (binding) => {
  const ask = (headers: Record<string, string>, tenant = 'books') =>
    callAny(service, { binding, operation: 'getExtendedAgentCard', request: { tenant }, headers });
  const skills = async (scope: string) =>
    ((await ask(await token(`a2a.card ${scope}`))).reply as unknown as Card).skills.map(({ id }) => id);

  it('is for nobody without a good credential and the scope for it (B63, S002-039)', async () => {
    for (const headers of [{}, { authorization: 'Bearer x' }, { 'x-api-key': 'pk_x' }]) {
      const refused = await ask(headers as Record<string, string>);
      expect(refused).toMatchObject({ reason: 'UNAUTHENTICATED', status: binding === 'GRPC' ? 16 : 401 });
    }
    const lacking = await ask(await token('a2a.read books.audit'));
    expect(lacking).toMatchObject({ reason: 'PERMISSION_DENIED', metadata: { scope: 'a2a.card' } });
  });

  it('has the skills that its reader may see (S002-040, S002-041)', async () => {
    expect(await skills('')).toEqual(['read']);
    expect(await skills('books.audit')).toEqual(['read', 'audit']);
    expect(await skills('books.close books.audit')).toEqual(['read', 'audit', 'close']);
  });

  it('holds no secret and no address of the inside (S002-042)', async () => {
    const { reply } = await ask(await token('a2a.card books.audit books.close'));
    const text = JSON.stringify(reply);
    for (const secret of ['ledger', 'sk-', 'secret-model', 'books.audit', 'openai'])
      expect(text).not.toContain(secret);
    const urls = (text.match(/https?:\/\/[^"/]+/g) ?? []).map((url) => new URL(url).host);
    const outside = [new URL(service.httpUrl).host, new URL(issuer.url).host];
    expect(urls.filter((host) => !outside.includes(host) && host !== 'parley.dev')).toEqual([]);
  });

  it('stays out of shared caches (B120)', async () => {
    const headers = { 'a2a-version': '1.0', ...(await token('a2a.card')) };
    expect(await caching(headers)).toMatch(/^private/);
  });

  async function caching(headers: Record<string, string>): Promise<string | null> {
    if (binding === 'GRPC') {
      const client = grpcClient(service.grpcAddress);
      const { headers: given } = await unary(
        client,
        'GetExtendedAgentCard',
        { tenant: 'books' },
        metadata(headers),
      );
      client.close();
      return String(given?.get('cache-control')[0]);
    }
    const base = `${service.httpUrl}/agents/books`;
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'GetExtendedAgentCard', params: {} });
    const response =
      binding === 'HTTP+JSON'
        ? await fetch(`${base}/rest/extendedAgentCard`, { headers })
        : await fetch(`${base}/jsonrpc`, {
            method: 'POST',
            headers: { ...headers, 'content-type': 'application/json' },
            body,
          });
    return response.headers.get('cache-control');
  }

  it('is declared where there is one, and refused where there is none', async () => {
    const capabilities = async (agent: string) =>
      ((await (await fetch(`${service.httpUrl}/agents/${agent}/card`)).json()) as Card).capabilities;
    expect(await capabilities('books')).toMatchObject({ extendedAgentCard: true });
    expect(await capabilities('echo')).toMatchObject({ extendedAgentCard: false });
    expect((await ask(await token('a2a.card'), 'echo')).reason).toBe('UNSUPPORTED_OPERATION');
  });
});
