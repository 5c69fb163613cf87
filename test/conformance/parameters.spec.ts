import type { JsonObject } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { artifact, completed } from '../../src/agents/index.js';
import { OPERATION_NAMES, type OperationName } from '../../src/protocol/index.js';
import type { BindingClient, Headers } from './clients/index.js';
import { conformance } from './conformance.case.js';
import { ScriptStage, ServiceStage } from './stage.js';
import { refused, says, taskIn } from './task.calls.js';
import { NO_LISTS, ONE_VERSION, PUBLIC_CARD } from './v03/modern.only.js';

const stage = new ServiceStage();
const { onEveryBinding } = conformance(stage);

function request(operation: OperationName): JsonObject {
  if (operation.startsWith('send')) return { message: says('hello') };
  if (operation.startsWith('list')) return operation === 'listTasks' ? {} : { taskId: 'x' };
  return operation.endsWith('Config') ? { taskId: 'x', id: 'x' } : { id: 'x' };
}

describe('The version of a call', () => {
  const agents = [
    ['conformance', 'only 1.0'],
    ['echo', '0.3 too'],
  ] as const;
  const cases = agents.flatMap((agent) => OPERATION_NAMES.map((operation) => [...agent, operation] as const));
  for (const [agent, served, operation] of cases) {
    onEveryBinding(
      `is asked for on ${operation}, where ${served} is served (S002-151, S002-152, B104)`,
      async (client) => {
        for (const version of ['', '0.3', '0.3.0', '1', '2.0', '99.0', 'abc', '1.0.0.0']) {
          const reply = await client.call(operation, request(operation), { 'a2a-version': version });
          refused('VERSION_NOT_SUPPORTED')(reply);
          expect(reply.refusal?.metadata.supported).toContain('1.0');
        }
        for (const version of ['1.0', '1.0.0', '1.0.7']) {
          const reply = await client.call(operation, request(operation), { 'a2a-version': version });
          expect(reply.refusal?.reason).not.toBe('VERSION_NOT_SUPPORTED');
        }
      },
      { agent, modernOnly: ONE_VERSION },
    );
  }

  it('may stand in the query, and the header wins (B104)', async () => {
    const ask = async (query: string, headers: Headers) => {
      const response = await fetch(`${stage.httpUrl}/agents/conformance/rest/tasks${query}`, { headers });
      return response.status;
    };
    expect(await ask('?A2A-Version=1.0', {})).toBe(200);
    expect(await ask('', {})).toBe(400);
    expect(await ask('?A2A-Version=1.0', { 'a2a-version': '0.3' })).toBe(400);
    expect(await ask('?A2A-Version=99.0', { 'a2a-version': '1.0' })).toBe(200);
    expect(await ask('?A2A-Version=1.0', { 'a2a-version': '' })).toBe(200);
  });

  it('that a client of 0.3 forgets to say is explained (S002-151)', async () => {
    const body = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: {} };
    const response = await fetch(`${stage.httpUrl}/agents/conformance/jsonrpc`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    expect(await response.json()).toMatchObject({
      error: { code: -32009, message: expect.stringContaining('A2A-Version: 1.0') },
    });
  });
});

describe('Extensions', () => {
  const ONE = 'https://e.example/One/v1';
  const TWO = 'https://e.example/two/v2';
  const scripted = new ScriptStage({
    scripts: {
      tell: ({ extensions, message }) => {
        const payload = message.metadata?.[ONE] ?? null;
        const metadata: JsonObject = extensions.includes(ONE) ? { [ONE]: payload } : {};
        const part = { content: { case: 'text', value: extensions.join(' ') } as const, metadata };
        return [artifact({ parts: [part], extensions: [...extensions] }), completed()];
      },
    },
    agent: { extensions: [{ uri: ONE }, { uri: TWO }] },
  });
  const { onEveryBinding: onEveryScripted } = conformance(scripted);
  const tell = (client: BindingClient, listed: string) =>
    client.call(
      'sendMessage',
      { message: says('tell', { metadata: { [ONE]: { a: 1 } } }) },
      listed ? { 'a2a-extensions': listed } : {},
    );

  onEveryScripted(
    'that are listed and known are activated and echoed; others are ignored (S002-154, S002-176, B105)',
    async (client) => {
      for (const [listed, active] of [
        [`${TWO}, ${ONE},https://e.example/unknown`, [ONE, TWO]],
        [`${ONE} , ${ONE},`, [ONE]],
        ['https://e.example/one/v1', []],
        ['https://e.example/One/v2', []],
        ['', []],
      ] as const) {
        const reply = await tell(client, listed);
        expect(taskIn(reply).artifacts[0]?.parts[0]?.text ?? '').toBe(active.join(' '));
        expect(reply.headers['a2a-extensions'] ?? '').toBe(active.join(', '));
      }
    },
  );

  onEveryScripted(
    'carry their payload under their URI, on messages and artifacts (S002-157)',
    async (client) => {
      const { history, artifacts } = taskIn(await tell(client, ONE));
      expect(history[0]?.metadata).toEqual({ [ONE]: { a: 1 } });
      expect(artifacts[0]).toMatchObject({ extensions: [ONE], parts: [{ metadata: { [ONE]: { a: 1 } } }] });
      const plain = taskIn(await tell(client, '')).artifacts[0]!;
      expect(plain.extensions ?? []).toEqual([]);
      expect(plain.parts[0]?.metadata ?? {}).toEqual({});
    },
  );

  it('may come in several headers of any case (S002-154, B105)', async () => {
    const headers = new Headers([
      ['A2A-Version', '1.0'],
      ['content-type', 'application/json'],
      ['A2A-EXTENSIONS', ONE],
      ['a2a-extensions', TWO],
    ]);
    const response = await fetch(`${scripted.httpUrl}/rest/message:send`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ message: says('tell') }),
    });
    expect(response.headers.get('a2a-extensions')).toBe(`${ONE}, ${TWO}`);
  });
});

describe('An extension that is required', () => {
  const URI = 'https://e.example/needed/v2';
  const scripted = new ScriptStage({
    scripts: { go: () => [completed()] },
    agent: { extensions: [{ uri: URI, required: true }] },
  });
  const { onEveryBinding: onEveryScripted } = conformance(scripted);

  for (const operation of OPERATION_NAMES) {
    onEveryScripted(
      `is asked for on ${operation}, in its very version (S002-155, S002-156)`,
      async (client) => {
        for (const listed of ['', 'https://e.example/needed/v1', 'https://e.example/needed']) {
          const headers: Headers = listed ? { 'a2a-extensions': listed } : {};
          const reply = await client.call(operation, request(operation), headers);
          refused('EXTENSION_SUPPORT_REQUIRED')(reply);
          expect(reply.refusal?.metadata).toMatchObject({ extension: URI });
        }
        const reply = await client.call(operation, request(operation), { 'a2a-extensions': URI });
        expect(reply.refusal?.reason).not.toBe('EXTENSION_SUPPORT_REQUIRED');
      },
      { modernOnly: { listTasks: NO_LISTS, getExtendedAgentCard: PUBLIC_CARD }[operation as string] },
    );
  }
});
