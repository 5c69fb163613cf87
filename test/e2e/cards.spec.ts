import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Binding } from '../../src/protocol/index.js';
import { callAny } from '../support/any.binding.js';
import { metadata, unary } from '../support/bindings.js';
import { oldGrpcClient } from '../support/old.bindings.js';
import { type RunningService, startService } from '../support/service.js';

const AGENTS = ['echo', 'test-runner', 'code-reviewer', 'deployer', 'conformance'];
const CARDS = ['/.well-known/agent-card.json', ...AGENTS.map((agent) => `/agents/${agent}/card`)];

interface Card {
  readonly name: string;
  readonly supportedInterfaces: readonly {
    readonly url: string;
    readonly protocolBinding: Binding;
    readonly protocolVersion: string;
    readonly tenant?: string;
  }[];
}

let service: RunningService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service?.stop());

describe.each(CARDS)('The card at %s', (path) => {
  let card: Card;
  beforeAll(async () => {
    card = (await (await fetch(service.httpUrl + path)).json()) as Card;
  });

  it('lists the three bindings, and each answers at the address that is written there (S002-023, B121)', async () => {
    const current = card.supportedInterfaces.filter(({ protocolVersion }) => protocolVersion === '1.0');
    expect(current.map((i) => i.protocolBinding)).toEqual(['JSONRPC', 'HTTP+JSON', 'GRPC']);
    for (const { url, protocolBinding: binding, protocolVersion, tenant } of current) {
      const answer = await callAny(
        { httpUrl: url, grpcAddress: url },
        {
          ...{ binding, operation: 'listTasks', isExactUrl: true },
          request: tenant === undefined ? {} : { tenant },
          headers: { 'a2a-version': protocolVersion },
        },
      );
      expect(answer).toMatchObject({ reply: { tasks: [], totalSize: 0 } });
    }
  });

  it('lists 0.3 where the agent is served in it, and it answers there too (S001-03, B121)', async () => {
    const old = card.supportedInterfaces.filter(({ protocolVersion }) => protocolVersion === '0.3');
    const isServed = !path.includes('conformance');
    expect(old.map((i) => i.protocolBinding)).toEqual(isServed ? ['JSONRPC', 'HTTP+JSON', 'GRPC'] : []);
    for (const { url, protocolBinding: binding, tenant = '' } of old) {
      expect(await readUnknownTask({ url, binding, tenant })).toMatch(/There is no such task/);
    }
  });

  it('has a form that is pure 0.3, the same at both addresses (S001-01, S001-02)', async () => {
    const base = path.replace(/\/(card|\.well-known.*)$/, '');
    const responses = await Promise.all([
      fetch(service.httpUrl + path, { headers: { 'a2a-version': '0.3' } }),
      fetch(`${service.httpUrl}${base}/v1/card`),
    ]);
    const [asked, found] = await Promise.all(responses.map((response) => response.text()));
    if (path.includes('conformance')) {
      expect(responses[1]?.status).toBe(404);
      expect(JSON.parse(asked!)).toEqual(card);
      return;
    }
    expect(found).toBe(asked);
    expect(responses[0]?.headers.get('vary')).toContain('A2A-Version');
    expect(responses[0]?.headers.get('etag')).toBe(responses[1]?.headers.get('etag'));
    const old = JSON.parse(asked!);
    expect(old).toMatchObject({ name: card.name, protocolVersion: '0.3.0', preferredTransport: 'JSONRPC' });
    expect(old).not.toHaveProperty('supportedInterfaces');
    expect(card).toMatchObject({ url: old.url, additionalInterfaces: old.additionalInterfaces });
    for (const { transport: binding, url } of old.additionalInterfaces) {
      expect(await readUnknownTask({ url, binding, tenant: '' })).toMatch(/There is no such task/);
    }
    expect(await (await fetch(`${old.url.replace('/jsonrpc', '')}/rest/v1/card`)).json()).toMatchObject({
      name: card.name,
    });
  });

  it.each(['0.3', '', '2.0', 'abc'])(
    'declares no version "%s", which is refused everywhere',
    async (version) => {
      for (const { url, protocolBinding: binding } of card.supportedInterfaces) {
        const answer = await callAny(
          { httpUrl: url, grpcAddress: url },
          { binding, operation: 'listTasks', isExactUrl: true, headers: { 'a2a-version': version } },
        );
        expect(answer.reason).toBe('VERSION_NOT_SUPPORTED');
      }
    },
  );
});

interface OldInterface {
  readonly url: string;
  readonly binding: Binding;
  readonly tenant: string;
}

/** What 0.3 says of a task that is not there. */
async function readUnknownTask({ url, binding, tenant }: OldInterface): Promise<string | undefined> {
  const id = crypto.randomUUID();
  if (binding === 'GRPC') {
    const client = oldGrpcClient(url);
    const { error } = await unary(
      client,
      'GetTask',
      { name: `tasks/${id}` },
      metadata({ 'a2a-tenant': tenant }),
    );
    client.close();
    return error?.details;
  }
  if (binding === 'HTTP+JSON') {
    const response = await fetch(`${url}/v1/tasks/${id}`);
    return ((await response.json()) as { message: string }).message;
  }
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tasks/get', params: { id } });
  const response = await fetch(url, { method: 'POST', headers, body });
  return ((await response.json()) as { error: { message: string } }).error.message;
}
