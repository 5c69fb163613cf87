import { ClientFactory } from '@a2a-js/sdk/client';
import { describe, expect, it } from 'vitest';
import { GrpcClient, JsonRpcClient, RestClient } from './clients/index.js';
import { ServiceStage } from './stage.js';
import { send, textOf } from './task.calls.js';

const stage = new ServiceStage();
const AGENTS = ['echo', 'test-runner', 'code-reviewer', 'deployer', 'conformance'];

interface Card {
  readonly [name: string]: unknown;
  readonly supportedInterfaces: {
    url: string;
    protocolBinding: string;
    protocolVersion: string;
    tenant?: string;
  }[];
  readonly skills: { id: string; tags: string[]; inputModes?: string[] }[];
}

const get = (path: string, init?: RequestInit) => fetch(stage.httpUrl + path, init);
const cardOf = async (agent: string) => (await (await get(`/agents/${agent}/card`)).json()) as Card;

describe('Every card', () => {
  it.each(AGENTS)('has the REQUIRED fields, none of them empty: %s (S002-021)', async (agent) => {
    const card = await cardOf(agent);
    for (const name of ['name', 'description', 'version']) expect(card[name]).toMatch(/./);
    for (const name of ['supportedInterfaces', 'defaultInputModes', 'defaultOutputModes', 'skills']) {
      expect((card[name] as unknown[]).length).toBeGreaterThan(0);
    }
    expect(card.capabilities).toBeTypeOf('object');
    for (const skill of card.skills) expect(skill.tags.length).toBeGreaterThan(0);
  });

  it.each(AGENTS)('names its interfaces as 1.0 does: %s (S002-022, S002-024, S002-025)', async (agent) => {
    const card = await cardOf(agent);
    for (const { url, protocolBinding, protocolVersion } of card.supportedInterfaces) {
      expect(['JSONRPC', 'GRPC', 'HTTP+JSON']).toContain(protocolBinding);
      expect(protocolVersion).toMatch(/^\d+\.\d+$/);
      if (protocolBinding === 'GRPC') expect(url).toMatch(/^[\w.]+:\d+$/);
      else expect(new URL(url).origin).toBe(stage.httpUrl);
    }
    const current = card.supportedInterfaces.filter(({ protocolVersion }) => protocolVersion === '1.0');
    expect(current.map(({ protocolBinding }) => protocolBinding)).toEqual(['JSONRPC', 'HTTP+JSON', 'GRPC']);
    for (const name of ['protocolVersions', 'security']) expect(card).not.toHaveProperty(name);
  });

  it.each(AGENTS)('lists nothing that does not answer: %s (S002-023)', async (agent) => {
    const { supportedInterfaces } = await cardOf(agent);
    for (const { url, protocolBinding, protocolVersion, tenant } of supportedInterfaces) {
      if (protocolVersion !== '1.0') continue;
      const client = {
        JSONRPC: () => new JsonRpcClient(url),
        'HTTP+JSON': () => new RestClient(url),
        GRPC: () => new GrpcClient(url, tenant),
      }[protocolBinding]!();
      expect(await client.result('listTasks')).toMatchObject({ pageSize: 50 });
      client.close();
    }
  });

  it.each(AGENTS)('is enough for the public SDK to call the agent: %s (S003-24)', async (agent) => {
    const client = await new ClientFactory().createFromUrl(`${stage.httpUrl}/agents/${agent}/`);
    const card = await client.getAgentCard();
    expect(card.name).toBe((await cardOf(agent)).name);
  });

  it('says per skill what it takes, and the version of its agent (S002-026, S002-028)', async () => {
    const reviewer = await cardOf('code-reviewer');
    expect(reviewer.version).toMatch(/^\d+\.\d+\.\d+$/);
    expect(reviewer.skills[0]).toMatchObject({ id: expect.any(String), name: expect.any(String) });
    expect(reviewer.defaultInputModes).toContain('text/x-diff');
  });

  it('says false of what is not there, and that is so (S002-027)', async () => {
    const { capabilities } = await cardOf('conformance');
    expect(capabilities).toMatchObject({ streaming: true, extendedAgentCard: false });
    const [client] = stage.clients('conformance');
    const reply = await client!.call('getExtendedAgentCard');
    expect(reply.refusal?.reason).toBe('UNSUPPORTED_OPERATION');
  });
});

describe('A card', () => {
  it('is at the exact path, for anyone, as JSON (S002-030)', async () => {
    const response = await get('/.well-known/agent-card.json');
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toMatch(/^application\/json/);
    for (const path of ['/.well-known/agent-card', '/.well-known/agent.json', '/.well-known/nothing']) {
      expect((await get(path)).status).toBe(404);
    }
  });

  it('may be kept and asked for again (S002-031)', async () => {
    const first = await get('/.well-known/agent-card.json');
    expect(first.headers.get('cache-control')).toMatch(/max-age=\d+/);
    const etag = first.headers.get('etag')!;
    const again = await get('/.well-known/agent-card.json', { headers: { 'if-none-match': etag } });
    expect(again.status).toBe(304);
    expect(await again.text()).toBe('');
    const other = await get('/agents/deployer/card', { headers: { 'if-none-match': etag } });
    expect(other.status).toBe(200);
  });

  it('may be read by a page of any origin (S002-033)', async () => {
    const headers = { origin: 'https://app.example' };
    const response = await get('/.well-known/agent-card.json', { headers });
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
  });
});

describe('The first interface of a card', () => {
  it('is all that a client needs (S003-24)', async () => {
    const [entry] = (await cardOf('echo')).supportedInterfaces;
    const task = await send(new JsonRpcClient(entry!.url), 'hello');
    expect(textOf(task.artifacts[0])).toBe('hello');
  });
});
