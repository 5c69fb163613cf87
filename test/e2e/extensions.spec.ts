import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonObject } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EXTENSION_URIS } from '../../src/protocol/index.js';
import { type Answer, BINDINGS, callAny } from '../support/any.binding.js';
import { openStream } from '../support/any.stream.js';
import { until } from '../support/house.js';
import { type RunningService, startService } from '../support/service.js';
import { WebhookReceiver } from '../support/webhook.receiver.js';

const { approvals, progress, usage, effects, files } = EXTENSION_URIS;
const ALL = Object.values(EXTENSION_URIS).join(', ');
const OWN = /parley\.dev\/extensions/;

let folder: string;
let receiver: WebhookReceiver;
let service: RunningService;

/** A program that says one thing of each extension. */
const AGENT = [
  { type: 'status', text: 'Looking', progress: [{ title: 'Look', state: 'active' }] },
  { type: 'artifact', id: 'f', text: 'x', file: { path: 'x.txt', version: 1 } },
  {
    type: 'done',
    usage: { inputTokens: 3, outputTokens: 4 },
    effects: [{ action: 'look', outcome: 'done' }],
  },
];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'parley-extensions-'));
  const lines = AGENT.map((event) => JSON.stringify(event)).join('\n');
  writeFileSync(join(folder, 'lines.txt'), `${lines}\n`);
  const agent = (id: string, extensions: string) =>
    `id: ${id}\nname: Teller\ndescription: Tells\nextensions: ${extensions}\n` +
    `backend:\n  kind: command\n  command: [cat, lines.txt]\n  output: events\n`;
  writeFileSync(
    join(folder, 'teller.yaml'),
    agent('teller', '[progress/v1, usage/v1, effects/v1, files/v1]'),
  );
  writeFileSync(join(folder, 'silent.yaml'), agent('silent', '[]'));
  receiver = await WebhookReceiver.listen();
  service = await startService({
    env: {
      PARLEY_AGENTS: 'echo,deployer',
      PARLEY_AGENTS_DIR: folder,
      PARLEY_AGENTS_RELOAD_MS: '100',
      PARLEY_PUSH_UNSIGNED: 'true',
      PARLEY_PUSH_KEYS: `one=${Buffer.alloc(32, 1).toString('base64')}`,
      PARLEY_PUSH_ALLOW: '127.0.0.1',
      PARLEY_OPERATOR_TOKEN: 'the-operators-own-token',
    },
  });
});
afterAll(async () => {
  await service?.stop();
  await receiver?.close();
  rmSync(folder, { recursive: true, force: true });
});

let messages = 0;
const says = (text: string, more: JsonObject = {}): JsonObject => ({
  messageId: `x-${++messages}`,
  role: 'ROLE_USER',
  parts: [{ text }],
  ...more,
});

const listed = (extensions?: string): Record<string, string> =>
  extensions === undefined ? {} : { 'a2a-extensions': extensions };
const taskOf = ({ reply }: Answer) => (reply as { task: JsonObject }).task as JsonObject & { id: string };

describe('An extension of the service', () => {
  it('is declared on the card of who speaks it, with the page that is served at its path (S004-21)', async () => {
    const cardOf = async (agent: string) =>
      (await (await fetch(`${service.httpUrl}/agents/${agent}/card`)).json()) as {
        capabilities: { extensions: { uri: string; params: { documentation: string } }[] };
      };
    const { extensions } = (await cardOf('echo')).capabilities;
    const deployer = (await cardOf('deployer')).capabilities.extensions.map(({ uri }) => uri);

    expect(extensions.map(({ uri }) => uri)).toEqual(expect.arrayContaining(Object.values(EXTENSION_URIS)));
    expect(deployer).toEqual([approvals, effects, 'https://parley.dev/extensions/change-feed/v1']);
    for (const { uri, params } of extensions) {
      expect(params.documentation).toBe(service.httpUrl + new URL(uri).pathname);
      const page = await fetch(params.documentation);
      expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
      expect(await page.text()).toContain(uri);
    }
    const schema = await fetch(`${service.httpUrl}/extensions/usage/v1/schema.json`);
    expect(await schema.json()).toMatchObject({ $id: usage, type: 'object' });
    expect((await fetch(`${service.httpUrl}/extensions/usage/v2`)).status).toBe(404);
    expect((await fetch(`${service.httpUrl}/extensions/change-feed/v1/schema.json`)).status).toBe(404);
  });

  it.each(BINDINGS)(
    'tells on %s only who lists its URI, and another reader of the same task later (S004-19, S004-20)',
    async (binding) => {
      const send = (extensions?: string) =>
        callAny(service, {
          ...{ binding, operation: 'sendMessage', request: { message: says('extensions') } },
          headers: listed(extensions),
        });
      const read = async (id: string, extensions?: string) =>
        JSON.stringify(
          (
            await callAny(service, {
              ...{ binding, operation: 'getTask', request: { id } },
              headers: listed(extensions),
            })
          ).reply,
        );
      const plain = await send();
      const full = await send(ALL);
      const some = await send(`${usage},https://e.example/unknown`);

      expect(JSON.stringify(plain.reply)).not.toMatch(OWN);
      expect(plain.extensions).toBeUndefined();
      expect(taskOf(full)).toMatchObject({
        metadata: {
          [progress]: { steps: [{ state: 'done' }, { state: 'done' }] },
          [effects]: { effects: [{ action: 'echo' }] },
          [usage]: { durationMs: 1 },
        },
        artifacts: [{ metadata: { [files]: { path: 'hello.txt', version: 1 } }, extensions: [files] }],
      });
      expect(full.extensions?.split(', ').sort()).toEqual(Object.values(EXTENSION_URIS).sort());
      expect(Object.keys(taskOf(some).metadata as object)).toEqual([usage]);
      expect(some.extensions).toBe(usage);

      expect(await read(taskOf(full).id)).not.toMatch(OWN);
      expect(await read(taskOf(plain).id, progress)).toContain(progress);
      expect(await read(taskOf(plain).id, progress)).not.toContain(usage);
    },
  );

  it.each(BINDINGS)('is in the streams of %s of those who list it, and in no other', async (binding) => {
    const stream = async (extensions?: string) => {
      const request = { message: says('extensions') };
      const { frames, ended } = openStream(service, {
        ...{ binding, operation: 'sendStreamingMessage', request },
        extensions,
      });
      expect(await ended).toBe('end');
      return frames.map((frame) => JSON.stringify(frame));
    };
    const [plain, full] = await Promise.all([stream(), stream(ALL)]);

    expect(plain).toHaveLength(full!.length);
    expect(plain!.join()).not.toMatch(OWN);
    expect(full!.filter((frame) => frame.includes(progress))).toHaveLength(2);
    expect(full!.filter((frame) => frame.includes(files))).toHaveLength(1);
  });

  it('is kept out of lists, of the change feed and of 0.3 just so', async () => {
    const texts = async (headers: Record<string, string>) => {
      const get = async (path: string) => (await fetch(service.httpUrl + path, { headers })).text();
      return [await get('/rest/tasks?includeArtifacts=true'), await get('/changes?includeArtifacts=true')];
    };
    for (const text of await texts({ 'a2a-version': '1.0' })) expect(text).not.toMatch(OWN);
    for (const text of await texts({ 'a2a-version': '1.0', 'a2a-extensions': effects }))
      expect(text).toContain(effects);

    const text = 'extensions';
    const parts = [{ kind: 'text', text }];
    const bodies: Readonly<Record<string, (messageId: string) => object>> = {
      '/jsonrpc': (messageId) => {
        const params = { message: { kind: 'message', role: 'user', messageId, parts } };
        return { jsonrpc: '2.0', id: 1, method: 'message/send', params };
      },
      '/rest/v1/message:send': (messageId) => ({
        request: { messageId, role: 'ROLE_USER', content: [{ text }] },
      }),
    };
    for (const [path, bodyOf] of Object.entries(bodies)) {
      const old = async (headers: Record<string, string>) => {
        const response = await fetch(service.httpUrl + path, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...headers },
          body: JSON.stringify(bodyOf(`x-${++messages}`)),
        });
        return [response.status, await response.text(), response.headers.get('x-a2a-extensions')];
      };
      expect(await old({})).toEqual([200, expect.not.stringMatching(OWN), null]);
      expect(await old({ 'x-a2a-extensions': usage })).toEqual([200, expect.stringContaining(usage), usage]);
    }
  });

  it('goes to webhooks of those who listed it when they asked to be pushed to', async () => {
    const push = async (extensions?: string) => {
      const before = receiver.received.length;
      await callAny(service, {
        ...{ binding: 'HTTP+JSON', operation: 'sendMessage' },
        request: {
          message: says('extensions'),
          configuration: { taskPushNotificationConfig: { url: receiver.url } },
        },
        headers: listed(extensions),
      });
      return (await receiver.arrived(before + 4)).slice(before).map(({ text }) => text);
    };

    expect((await push()).join()).not.toMatch(OWN);
    expect((await push(progress)).filter((text) => text.includes(progress))).toHaveLength(2);
  });

  it('is told by an agent in a file that declares it; one that does not declare it is not heard', async () => {
    const tell = async (tenant: string) =>
      taskOf(
        await callAny(service, {
          ...{ binding: 'JSONRPC', operation: 'sendMessage', request: { tenant, message: says('go') } },
          headers: listed(ALL),
        }),
      );

    expect(await tell('teller')).toMatchObject({
      metadata: {
        [progress]: { steps: [{ title: 'Look', state: 'active' }] },
        [usage]: { inputTokens: 3, outputTokens: 4 },
        [effects]: { effects: [{ action: 'look', outcome: 'done' }] },
      },
      artifacts: [{ metadata: { [files]: { path: 'x.txt', version: 1 } } }],
    });
    expect(JSON.stringify(await tell('silent'))).not.toMatch(OWN);
  });
});

describe('An agent behind A2A', () => {
  it('passes on what the other side tells by extensions, and nothing else of its metadata', async () => {
    const file =
      `id: front\nname: Front\ndescription: Another agent\nextensions: [progress/v1, files/v1]\n` +
      `backend:\n  kind: a2a\n  url: ${service.httpUrl}/agents/echo/\n`;
    writeFileSync(join(folder, 'front.yaml'), file);
    await until(async () => (await fetch(`${service.httpUrl}/agents/front/card`)).ok);
    const send = async (extensions?: string) =>
      taskOf(
        await callAny(service, {
          ...{ binding: 'HTTP+JSON', operation: 'sendMessage' },
          request: { tenant: 'front', message: says('extensions') },
          headers: listed(extensions),
        }),
      );

    expect(await send(ALL)).toMatchObject({
      metadata: { [progress]: { steps: [{ state: 'done' }, { state: 'done' }] } },
      artifacts: [{ metadata: { [files]: { path: 'hello.txt' } } }],
    });
    expect(JSON.stringify(await send(progress))).not.toContain(files);
    expect(JSON.stringify(await send())).not.toMatch(OWN);
  });
});

describe('A question of approvals/v1', () => {
  const send = async (binding: (typeof BINDINGS)[number], request: JsonObject) =>
    taskOf(
      await callAny(service, { binding, operation: 'sendMessage', request, headers: listed(approvals) }),
    );

  it.each(BINDINGS)(
    'is asked and answered on %s as data, by message on the same task (S004-14)',
    async (binding) => {
      const asked = await send(binding, { tenant: 'deployer', message: says('deploy') });
      const { message } = asked.status as { message: JsonObject };
      expect(message).toMatchObject({
        metadata: { [approvals]: { question: { id: 'plan', kind: 'text' } } },
      });

      const answer = { question: 'plan', text: 'deploy checkout 1.4.2 to staging' };
      const waiting = await send(binding, {
        tenant: 'deployer',
        message: says(answer.text, { taskId: asked.id, metadata: { [approvals]: { answer } } }),
      });
      expect(waiting.status).toMatchObject({
        state: 'TASK_STATE_AUTH_REQUIRED',
        message: {
          extensions: [approvals],
          metadata: { [approvals]: { question: { kind: 'approval', action: { name: 'deploy' } } } },
        },
      });

      const approved = await fetch(`${service.httpUrl}/operator/approvals/${asked.id}`, {
        method: 'POST',
        headers: { authorization: 'Bearer the-operators-own-token', 'content-type': 'application/json' },
        body: JSON.stringify({ by: 'olga', reason: 'tested' }),
      });
      expect(approved.status).toBe(200);
      const done = await callAny(service, {
        ...{ binding, operation: 'getTask', request: { tenant: 'deployer', id: asked.id } },
        headers: listed(`${approvals},${effects}`),
      });
      expect((done.reply as JsonObject).metadata).toMatchObject({
        [approvals]: { answer: { question: 'deploy', approved: true, by: 'olga', reason: 'tested' } },
      });
    },
  );
});
