import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Binding, OperationName } from '../../src/protocol/index.js';
import { BINDINGS, callAny } from '../support/any.binding.js';
import { message } from '../support/caller.matrix.js';
import { until } from '../support/house.js';
import { AUDIENCE, OidcIssuer } from '../support/oidc.issuer.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';
import { type RunningService, startService } from '../support/service.js';

const AGENT = new URL('../support/backends/identity.agent.mjs', import.meta.url).pathname;
const CHANGE_FEED = 'https://parley.dev/extensions/change-feed/v1';
const ALL = 'agent:spawn agent:read agent:manage a2a.push a2a.card';

let issuer: OidcIssuer;
let database: TestDatabase;
let service: RunningService;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'parley-scopes-'));
  const who = `id: who\nname: Who\ndescription: Says for whom it works\nbackend: { kind: module, path: ${AGENT} }\n`;
  writeFileSync(join(folder, 'who.yaml'), who);
  issuer = await OidcIssuer.start('ES256');
  database = await createDatabase();
  service = await startService({
    database,
    env: {
      PARLEY_OIDC_ISSUERS: issuer.url,
      PARLEY_OIDC_AUDIENCE: AUDIENCE,
      PARLEY_OIDC_ORGANISATION_CLAIM: 'org',
      PARLEY_SCOPE_NAMES: 'a2a.send=agent:spawn,a2a.read=agent:read,a2a.cancel=agent:manage',
      PARLEY_ORGANISATION_READ_SCOPE: 'tasks.audit',
      PARLEY_API_KEYS: 'true',
      PARLEY_OPERATOR_TOKEN: 'the-operators-own-token',
      PARLEY_AGENTS: 'echo',
      PARLEY_AGENTS_DIR: folder,
      PARLEY_PUSH_UNSIGNED: 'true',
      PARLEY_PUSH_KEYS: `test=${Buffer.alloc(32, 1).toString('base64')}`,
    },
  });
});
afterAll(async () => {
  await service?.stop();
  await database?.drop();
  await issuer?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const token = async (claims: Record<string, unknown> = {}) => ({
  authorization: `Bearer ${await issuer.forge({ claims: { org: 'acme', sub: 'ann', scope: ALL, ...claims } })}`,
});

async function newKey(wanted: object): Promise<{ 'x-api-key': string }> {
  const response = await fetch(`${service.httpUrl}/operator/keys`, {
    method: 'POST',
    headers: { authorization: 'Bearer the-operators-own-token', 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'k', organisation: 'acme', ...wanted }),
  });
  return { 'x-api-key': ((await response.json()) as { key: string }).key };
}

interface TaskJson {
  readonly id: string;
  readonly status: { readonly state: string };
  readonly artifacts?: readonly { readonly parts: readonly { readonly text: string }[] }[];
}

describe.each(BINDINGS)('On %s', (binding: Binding) => {
  const ask = (operation: OperationName, request: object, headers: Record<string, string>) =>
    callAny(service, { binding, operation, request: request as never, headers });
  const start = async (text: string, headers: Record<string, string>, tenant = 'echo') => {
    const { reply } = await ask('sendMessage', { ...message(text), tenant }, headers);
    return (reply as unknown as { task: TaskJson }).task;
  };
  const count = async (headers: Record<string, string>) =>
    ((await ask('listTasks', {}, headers)).reply as unknown as { totalSize: number }).totalSize;

  it('a token of the issuer and an API key are both accepted (S000-39, S003-08)', async () => {
    const key = await newKey({ scopes: ['a2a.send', 'a2a.read'] });
    const bearer = { authorization: `Bearer ${key['x-api-key']}` };
    const { id } = await start('by key', key);

    expect((await ask('getTask', { id }, bearer)).reply).toMatchObject({ id });
    expect((await start('by token', await token())).status.state).toBe('TASK_STATE_COMPLETED');
  });

  it.each<[OperationName, string, (id: string) => object]>([
    ['sendMessage', 'agent:spawn', () => message('more')],
    ['sendStreamingMessage', 'agent:spawn', () => message('more')],
    ['getTask', 'agent:read', (id) => ({ id })],
    ['subscribeToTask', 'agent:read', (id) => ({ id })],
    ['cancelTask', 'agent:manage', (id) => ({ id })],
  ])(
    '%s needs %s, before any work on tasks (S000-40, S000-41, S000-42, S000-43)',
    async (operation, scope, request) => {
      const sub = crypto.randomUUID();
      const { id } = await start('ask', await token({ sub }));
      const others = ALL.split(' ').filter((name) => name !== scope);
      const lacking = await token({ sub, scope: `${others.join(' ')} a2a.send a2a.read a2a.cancel` });

      const refused = await ask(operation, request(id), lacking);
      expect(refused).toMatchObject({ reason: 'PERMISSION_DENIED', metadata: { scope } });
      expect((await ask(operation, request(id), {})).reason).toBe('UNAUTHENTICATED');

      expect(await count(await token({ sub }))).toBe(1);
      const { reply } = await ask('getTask', { id }, await token({ sub }));
      expect(reply).toMatchObject({ status: { state: 'TASK_STATE_INPUT_REQUIRED' } });
    },
  );

  it('the agent works for the caller from its first step to the last, with extensions named too (B55, S003-10, S003-16)', async () => {
    const sub = crypto.randomUUID();
    const headers = { ...(await token({ sub })), 'a2a-extensions': CHANGE_FEED };
    const { id } = await start('who?', headers, 'who');
    const request = { ...message('who?'), tenant: 'who', configuration: { returnImmediately: true } };
    const { reply } = await ask('sendMessage', request, headers);
    const streamed = await ask('sendStreamingMessage', { ...message('who?'), tenant: 'who' }, headers);
    const ids = [reply, streamed.reply].map((each) => (each as unknown as { task: TaskJson }).task.id);

    for (const each of [id, ...ids]) {
      const read = async () =>
        (await ask('getTask', { id: each, tenant: 'who' }, headers)).reply as unknown as TaskJson;
      await until(async () => (await read()).status.state === 'TASK_STATE_COMPLETED');
      const said = (await read()).artifacts?.[0]?.parts.map(({ text }) => text);
      expect(said).toEqual(Array(3).fill(`acme/${sub}`));
    }
    expect(await ownersOf([id, ...ids])).toEqual([`acme/${sub}`]);
  });

  describe('a holder of the organisation-wide read scope', () => {
    let id: string;
    const auditor = (claims: object = {}) =>
      token({ sub: 'auditor', scope: `${ALL} tasks.audit`, ...claims });
    beforeAll(async () => {
      ({ id } = await start('ask', await token({ sub: crypto.randomUUID() })));
    });

    it('reads the tasks of everybody in its organisation', async () => {
      const headers = await auditor();
      expect((await ask('getTask', { id }, headers)).reply).toMatchObject({ id });
      expect((await ask('subscribeToTask', { id }, headers)).reply).toMatchObject({ task: { id } });
      const listed: string[] = [];
      for (let pageToken = ''; ; ) {
        const { reply } = await ask('listTasks', { pageSize: 3, pageToken }, headers);
        const page = reply as unknown as { tasks?: TaskJson[]; nextPageToken: string };
        listed.push(...(page.tasks ?? []).map((task) => task.id));
        pageToken = page.nextPageToken;
        if (!pageToken) break;
      }
      expect(listed).toContain(id);
      expect(new Set(listed).size).toBe(listed.length);
      expect(await count(headers)).toBe(listed.length);
    });

    it('changes none of them, and sees nothing of its push', async () => {
      const headers = await auditor();
      for (const [operation, request] of [
        ['cancelTask', { id }],
        ['sendMessage', message('blue', { taskId: id })],
        ['sendStreamingMessage', message('blue', { taskId: id })],
        ['createTaskPushNotificationConfig', { taskId: id, url: 'https://hook.example' }],
        ['listTaskPushNotificationConfigs', { taskId: id }],
      ] as const) {
        expect((await ask(operation, request, headers)).reason, operation).toBe('TASK_NOT_FOUND');
      }
      const { reply } = await ask('getTask', { id }, headers);
      expect(reply).toMatchObject({ status: { state: 'TASK_STATE_INPUT_REQUIRED' } });
    });

    it('sees nothing of another organisation, needs the scope to read at all, and does not lend it to a subject', async () => {
      expect((await ask('getTask', { id }, await auditor({ org: 'umbrella' }))).reason).toBe(
        'TASK_NOT_FOUND',
      );
      expect((await ask('getTask', { id }, await auditor({ scope: 'tasks.audit' }))).reason).toBe(
        'PERMISSION_DENIED',
      );
      expect((await ask('getTask', { id }, await token({ sub: 'bob' }))).reason).toBe('TASK_NOT_FOUND');
      const scopes = ['a2a.read', 'tasks.audit'];
      const lent = await newKey({ scopes, actsForOthers: true });
      expect((await ask('getTask', { id }, { ...lent, 'parley-subject': 'bob' })).reason).toBe(
        'TASK_NOT_FOUND',
      );
      expect((await ask('getTask', { id }, await newKey({ scopes }))).reply).toMatchObject({ id });
    });
  });
});

it('The change feed brings the holder of the organisation-wide read scope what all have changed', async () => {
  const mine = await token({ sub: crypto.randomUUID(), scope: `${ALL} tasks.audit`, org: 'wayne' });
  const theirs = await token({ sub: crypto.randomUUID(), org: 'wayne' });
  const request = message('hello') as never;
  const { reply } = await callAny(service, {
    binding: 'JSONRPC',
    operation: 'sendMessage',
    request,
    headers: theirs,
  });
  const { id } = (reply as unknown as { task: TaskJson }).task;
  const changes = async (headers: Record<string, string>) => {
    const response = await fetch(`${service.httpUrl}/changes`, {
      headers: { 'a2a-version': '1.0', ...headers },
    });
    return ((await response.json()) as { tasks: TaskJson[] }).tasks.map((task) => task.id);
  };

  await until(async () => (await changes(mine)).includes(id));
  expect(await changes(await token({ sub: crypto.randomUUID(), org: 'wayne' }))).toEqual([]);
});

async function ownersOf(ids: readonly string[]): Promise<string[]> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  const text = `select distinct organisation || '/' || owner as owner from tasks where id = any($1::uuid[])`;
  const { rows } = await client.query<{ owner: string }>(text, [ids]);
  await client.end();
  return rows.map(({ owner }) => owner);
}
