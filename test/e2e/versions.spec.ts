import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { credentials, loadPackageDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { BINDINGS, callAny } from '../support/any.binding.js';
import { metadata, unary } from '../support/bindings.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';
import { type RunningService, startService } from '../support/service.js';

const MODULE = new URL('../support/backends/version.agent.mjs', import.meta.url).pathname;

/** A folder of agents, one file for each version. */
class Folder {
  readonly path = mkdtempSync(join(tmpdir(), 'parley-versions-'));

  put(version: string, rollout = ''): void {
    const lines = [
      `id: words\nname: Words\ndescription: Says it\nversion: ${version}`,
      `skills: [{ id: s${version}, name: S, description: Says it, tags: [x] }]`,
      `backend: { kind: module, path: ${MODULE}, options: { version: ${version} } }`,
      rollout && `rollout: ${rollout}`,
    ];
    writeFileSync(join(this.path, `${version}.yaml`), lines.join('\n'));
  }

  take(version: string): void {
    rmSync(join(this.path, `${version}.yaml`));
  }

  serve(database: TestDatabase, env = {}): Promise<RunningService> {
    const settings = { PARLEY_AGENTS_DIR: this.path, PARLEY_AGENTS_RELOAD_MS: '50', PARLEY_LEASE_MS: '2000' };
    return startService({ database, env: { ...settings, ...env } });
  }

  drop(): void {
    rmSync(this.path, { recursive: true });
  }
}

interface Card {
  readonly version: string;
  readonly skills: { id: string }[];
  readonly supportedInterfaces: Interface[];
}

interface Interface {
  readonly url: string;
  readonly protocolBinding: (typeof BINDINGS)[number];
  readonly protocolVersion: string;
  readonly tenant?: string;
}

interface TaskJson {
  readonly id: string;
  readonly contextId: string;
  readonly status: { state: string };
  readonly artifacts?: { parts: { text: string }[] }[];
}

interface Sent {
  readonly task?: TaskJson;
  readonly error?: { message: string; code: number };
}

const saidBy = ({ task }: Sent) => task?.artifacts?.[0]?.parts[0]?.text;

async function cardAt(service: RunningService, path: string): Promise<Card> {
  const response = await fetch(service.httpUrl + path, { headers: { 'a2a-version': '1.0' } });
  expect(response.status, path).toBe(200);
  return (await response.json()) as Card;
}

interface SendMore {
  readonly version?: string;
  /** An API key. */
  readonly key?: string;
  readonly taskId?: string;
  readonly contextId?: string;
  readonly messageId?: string;
}

/** Sends over HTTP+JSON to the agent, at the plain address or that of a version. */
async function send(
  service: RunningService,
  text: string,
  { version, key, ...more }: SendMore = {},
): Promise<Sent> {
  const base = `${service.httpUrl}/agents/words${version === undefined ? '' : `/versions/${version}`}`;
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...more };
  const response = await fetch(`${base}/rest/message:send`, {
    method: 'POST',
    headers: {
      ...{ 'content-type': 'application/json', 'a2a-version': '1.0' },
      ...(key && { 'x-api-key': key }),
    },
    body: JSON.stringify({ message }),
  });
  return (await response.json()) as Sent;
}

describe('Versions of one agent, side by side', () => {
  let folder: Folder;
  let database: TestDatabase;
  let service: RunningService;
  beforeAll(async () => {
    folder = new Folder();
    database = await createDatabase();
    folder.put('1.0.0', 'current');
    folder.put('2.0.0', '{ weight: 50 }');
    folder.put('3.0.0');
    service = await folder.serve(database);
  });
  afterAll(async () => {
    await service?.stop();
    await database?.drop();
    folder.drop();
  });

  it('each have a card at their own address, which declares addresses of their own (S003-12, S003-15)', async () => {
    expect((await cardAt(service, '/agents/words/card')).version).toBe('1.0.0');
    for (const version of ['1.0.0', '2.0.0', '3.0.0']) {
      for (const path of ['card', '.well-known/agent-card.json', '.well-known/a2a/v1/agent-card.json']) {
        const card = await cardAt(service, `/agents/words/versions/${version}/${path}`);
        expect([card.version, card.skills[0]?.id]).toEqual([version, `s${version}`]);
        const http = card.supportedInterfaces.filter(({ protocolBinding }) => protocolBinding !== 'GRPC');
        expect(http.every(({ url }) => url.includes(`/agents/words/versions/${version}/`))).toBe(true);
      }
    }
    const unknown = await fetch(`${service.httpUrl}/agents/words/versions/4.0.0/card`);
    expect(unknown.status).toBe(404);
  });

  it('each answer at every address that their card declares, in 1.0 (B121)', async () => {
    for (const version of ['1.0.0', '2.0.0', '3.0.0']) {
      const { supportedInterfaces } = await cardAt(service, `/agents/words/versions/${version}/card`);
      const current = supportedInterfaces.filter(({ protocolVersion }) => protocolVersion === '1.0');
      expect(current.map(({ protocolBinding }) => protocolBinding)).toEqual(BINDINGS);
      for (const { url, protocolBinding: binding, tenant } of current) {
        const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'hello' }] };
        const { reply, message: problem } = await callAny(
          { httpUrl: url, grpcAddress: url },
          { binding, operation: 'sendMessage', isExactUrl: true, request: { tenant: tenant ?? '', message } },
        );
        expect(problem).toBeUndefined();
        expect(saidBy(reply as unknown as Sent), `${binding} ${version}`).toBe(`${version}: hello`);
      }
    }
  });

  it('each answer at every address that their card declares, in 0.3 (B121)', async () => {
    const card = await cardAt(service, '/agents/words/versions/2.0.0/card');
    const old = card.supportedInterfaces.filter(({ protocolVersion }) => protocolVersion === '0.3');
    const [jsonRpc, rest, grpc] = BINDINGS.map(
      (binding) => old.find(({ protocolBinding }) => protocolBinding === binding)!,
    ) as [Interface, Interface, Interface];
    const post = async (url: string, body: object) => {
      const headers = { 'content-type': 'application/json' };
      return (await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })).text();
    };
    const parts = [{ kind: 'text', text: 'hello' }];
    const message = { kind: 'message', messageId: crypto.randomUUID(), role: 'user', parts };
    expect(
      await post(jsonRpc.url, { jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } }),
    ).toContain('2.0.0: hello');

    const request = { messageId: crypto.randomUUID(), role: 'ROLE_USER', content: [{ text: 'hello' }] };
    expect(await post(`${rest.url}/v1/message:send`, { message: request })).toContain('2.0.0: hello');

    const definition = loadSync('a2a_v03.proto', { includeDirs: ['proto'], enums: String });
    const { a2a } = loadPackageDefinition(definition) as never as {
      a2a: { v1: { A2AService: new (...given: unknown[]) => Parameters<typeof unary>[0] } };
    };
    const client = new a2a.v1.A2AService(grpc.url, credentials.createInsecure());
    const { reply, error } = await unary(
      client,
      'SendMessage',
      { request: { ...request, messageId: crypto.randomUUID() } },
      metadata({ 'a2a-version': '0.3', 'a2a-tenant': grpc.tenant ?? 'words@2.0.0' }),
    );
    client.close();
    expect(error).toBeUndefined();
    expect(JSON.stringify(reply)).toContain('2.0.0: hello');
  });

  it('are named by the tenant too, which may not contradict the address', async () => {
    const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'hello' }] };
    const response = await fetch(`${service.httpUrl}/rest/words@3.0.0/message:send`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
      body: JSON.stringify({ message }),
    });
    expect(saidBy((await response.json()) as Sent)).toBe('3.0.0: hello');
    const wrong = await callAny(
      { httpUrl: `${service.httpUrl}/agents/words/versions/1.0.0/jsonrpc`, grpcAddress: '' },
      { binding: 'JSONRPC', operation: 'listTasks', isExactUrl: true, request: { tenant: 'words@2.0.0' } },
    );
    expect(wrong.reason).toBe('INVALID_PARAMS');
  });

  it('share new contexts of the plain address by weight; a context stays on its version', async () => {
    const first = await Promise.all(Array.from({ length: 40 }, () => send(service, 'hello')));
    const versions = new Set(first.map((sent) => saidBy(sent)?.slice(0, 5)));
    expect([...versions].sort()).toEqual(['1.0.0', '2.0.0']);
    for (const sent of first.slice(0, 10)) {
      const again = await send(service, 'again', { contextId: sent.task!.contextId });
      expect(saidBy(again)?.slice(0, 5)).toBe(saidBy(sent)?.slice(0, 5));
    }
  });

  it('refuse a task and a context of another version at their own address, and show and cancel it', async () => {
    const { task } = await send(service, 'ask', { version: '3.0.0' });
    const { id: taskId, contextId } = task!;
    for (const begun of [{ taskId }, { contextId }]) {
      const refused = await send(service, 'more', { version: '1.0.0', ...begun });
      expect(refused.error?.message).toMatch(/began on version 3\.0\.0 of the agent/);
    }
    const read = await callAny(
      { httpUrl: `${service.httpUrl}/agents/words/versions/1.0.0/jsonrpc`, grpcAddress: '' },
      { binding: 'JSONRPC', operation: 'getTask', isExactUrl: true, request: { id: taskId } },
    );
    expect(read.reply).toMatchObject({ id: taskId });
    expect(saidBy(await send(service, 'more', { taskId }))).toBe('3.0.0: more');
  });
});

describe('A new version', () => {
  let folder: Folder;
  let database: TestDatabase;
  const running: RunningService[] = [];
  const serve = async () => {
    const service = await folder.serve(database);
    running.push(service);
    return service;
  };
  beforeEach(async () => {
    folder = new Folder();
    database = await createDatabase();
  });
  afterEach(async () => {
    for (const service of running.splice(0)) await service.stop();
    await database.drop();
    folder.drop();
  });
  const isCurrent = (service: RunningService, version: string) =>
    vi.waitFor(async () => expect((await cardAt(service, '/agents/words/card')).version).toBe(version), {
      timeout: 20_000,
    });

  it('takes the new contexts while the old one drains, on every replica and after a restart', async () => {
    folder.put('1.0.0');
    const [one, two] = [await serve(), await serve()];
    const messageId = crypto.randomUUID();
    const { task } = await send(one, 'ask', { messageId });
    const { task: other } = await send(one, 'ask');
    folder.put('2.0.0', 'current');
    folder.put('1.0.0', 'draining');
    for (const service of [one, two]) await isCurrent(service, '2.0.0');

    expect(saidBy(await send(two, 'hello'))).toBe('2.0.0: hello');
    expect(saidBy(await send(two, 'blue', { taskId: task!.id }))).toBe('1.0.0: blue');
    expect(saidBy(await send(two, 'red', { contextId: task!.contextId }))).toBe('1.0.0: red');
    const closed = await send(two, 'hello', { version: '1.0.0' });
    expect(closed.error?.message).toBe(
      'Version 1.0.0 of the agent is being replaced and takes no new contexts',
    );
    expect((await send(two, 'ask', { version: '1.0.0', messageId })).task?.id).toBe(task!.id);

    await one.kill();
    running.splice(running.indexOf(one), 1);
    const again = await serve();
    expect(saidBy(await send(again, 'green', { taskId: other!.id }))).toBe('1.0.0: green');
  });

  it('is for the callers of an organisation first, and of the others for none', async () => {
    folder.put('1.0.0', 'current');
    folder.put('2.0.0', '{ callers: { organisations: [acme] } }');
    const env = { PARLEY_API_KEYS: 'true', PARLEY_OPERATOR_TOKEN: 'of-the-operator' };
    const service = await folder.serve(database, env);
    running.push(service);
    const keyOf = async (organisation: string) => {
      const response = await fetch(`${service.httpUrl}/operator/keys`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: 'Bearer of-the-operator' },
        body: JSON.stringify({
          name: 'test',
          organisation,
          subject: 'ann',
          scopes: ['a2a.send', 'a2a.read'],
        }),
      });
      return ((await response.json()) as { key: string }).key;
    };
    for (const [organisation, version] of [
      ['acme', '2.0.0'],
      ['umbrella', '1.0.0'],
    ] as const) {
      const key = await keyOf(organisation);
      const sent = await send(service, 'hello', { key });
      expect(saidBy(sent)).toBe(`${version}: hello`);
      const again = await send(service, 'again', { key, contextId: sent.task!.contextId });
      expect(saidBy(again)).toBe(`${version}: again`);
    }
  });

  it('goes on with what an older one of the same major number began, where that is gone', async () => {
    folder.put('1.0.0');
    const service = await serve();
    const { task } = await send(service, 'ask');
    folder.put('1.1.0');
    folder.take('1.0.0');
    await isCurrent(service, '1.1.0');
    expect(saidBy(await send(service, 'blue', { taskId: task!.id }))).toBe('1.1.0: blue');
  });

  it('of another major number does not: who answers a task of the one that is gone is told so', async () => {
    folder.put('1.0.0');
    const service = await serve();
    const { task } = await send(service, 'ask');
    folder.put('2.0.0');
    folder.take('1.0.0');
    await isCurrent(service, '2.0.0');
    const { error } = await send(service, 'blue', { taskId: task!.id });
    expect(error?.message).toBe('Version 1.0.0 of the agent, which the task began on, is no longer served');
    expect(saidBy(await send(service, 'anew', { contextId: task!.contextId }))).toBe('2.0.0: anew');
  });

  it('leaves alone what runs on the one that it replaces', async () => {
    folder.put('1.0.0');
    const service = await serve();
    const tasks = `${service.httpUrl}/agents/words/rest/tasks`;
    const headers = { 'a2a-version': '1.0', 'content-type': 'application/json' };
    const started = fetch(`${service.httpUrl}/agents/words/rest/message:send`, {
      method: 'POST',
      headers,
      body: JSON.stringify({
        message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'wait' }] },
        configuration: { returnImmediately: true },
      }),
    });
    const { task } = (await (await started).json()) as Sent;
    folder.put('2.0.0');
    folder.take('1.0.0');
    await isCurrent(service, '2.0.0');
    const state = async () =>
      ((await (await fetch(`${tasks}/${task!.id}`, { headers })).json()) as TaskJson).status.state;
    await vi.waitFor(async () => expect(await state()).toBe('TASK_STATE_WORKING'), { timeout: 10_000 });
    await fetch(`${tasks}/${task!.id}:cancel`, { method: 'POST', headers, body: '{}' });
    expect(await state()).toBe('TASK_STATE_CANCELED');
  });
});
