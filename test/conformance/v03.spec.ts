import { connect, createServer, type Server } from 'node:net';
import type { JsonObject } from '@bufbuild/protobuf';
import { afterAll, describe, expect, it } from 'vitest';
import { working } from '../../src/agents/index.js';
import { readSse } from './clients/index.js';
import { conformance } from './conformance.case.js';
import { ScriptStage, ServiceStage } from './stage.js';
import { kinds, read, says, send, type TaskJson } from './task.calls.js';

const stage = new ServiceStage({ PARLEY_SSE_HEARTBEAT_MS: '50' });
const { onEveryBinding } = conformance(stage);
const AGENTS = ['echo', 'test-runner', 'code-reviewer', 'deployer'];
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** A message as 0.3 has it over JSON-RPC. */
const said = (text: string, more: JsonObject = {}): JsonObject => ({
  kind: 'message',
  messageId: crypto.randomUUID(),
  role: 'user',
  parts: [{ kind: 'text', text }],
  ...more,
});

/** A call as 0.3 makes it: no header says so. */
const post = (method: string, params: JsonObject, url = `${stage.httpUrl}/agents/echo/jsonrpc`) =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 'mine', method, params }),
  });

interface Answer {
  readonly id: unknown;
  readonly result: Record<string, never>;
}

const call = async (method: string, params: JsonObject): Promise<Record<string, never>> =>
  ((await (await post(method, params)).json()) as Answer).result;

async function stream(method: string, params: JsonObject, url?: string): Promise<Answer[]> {
  const response = await post(method, params, url);
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  const answers: Answer[] = [];
  for await (const { data } of readSse(response.body!)) if (data) answers.push(JSON.parse(data) as Answer);
  return answers;
}

describe('What a client of 0.3 reads off the wire', () => {
  it.each(AGENTS)('comes from the one JSON-RPC address of %s (S000-09)', async (agent) => {
    const url = `${stage.httpUrl}/agents/${agent}/jsonrpc`;
    const response = await post('tasks/get', { id: 'unknown' }, url);
    expect(await response.json()).toMatchObject({ jsonrpc: '2.0', id: 'mine', error: { code: -32001 } });
  });

  it('is a task with its kind, ids, state and time, then its text (S000-10, S000-22, S000-23)', async () => {
    const message = said('hello');
    const task = await call('message/send', { message });
    expect(task).toEqual({
      kind: 'task',
      id: expect.stringMatching(/./),
      contextId: expect.stringMatching(/./),
      status: { state: 'completed', timestamp: expect.stringMatching(TIME) },
      history: [{ ...message, taskId: task.id, contextId: task.contextId }],
      artifacts: [
        { artifactId: `${task.id}-response`, name: 'response', parts: [{ kind: 'text', text: 'hello' }] },
      ],
    });
    expect(await call('tasks/get', { id: task.id! })).toEqual(task);
  });

  it('is a stream from the task over its progress and last chunk to the end (S000-13, S000-14, S000-16)', async () => {
    const answers = await stream('message/stream', { message: said('chunks 2') });
    expect(answers.map(({ id }) => id)).toEqual(answers.map(() => 'mine'));
    const results = answers.map(({ result }) => result as JsonObject);
    expect(results.map(({ kind }) => kind)).toEqual([
      'task',
      'status-update',
      'artifact-update',
      'artifact-update',
      'status-update',
    ]);
    expect(results.map(({ final }) => final)).toEqual([undefined, false, undefined, undefined, true]);
    expect(results.map(({ lastChunk }) => lastChunk)).toEqual([undefined, undefined, false, true, undefined]);
  });

  it('is one id for the task, its run, its result and the records of the log (S000-12)', async () => {
    const { id } = (await call('message/send', { message: said('throw') })) as unknown as TaskJson;
    expect((await call('tasks/get', { id })).id).toBe(id);
    expect((await read(stage.clients('echo')[0]!, id)).id).toBe(id);
    await expect.poll(() => stage.service.output()).toContain(id);
  });
});

describe('A proxy that cuts what is idle', () => {
  const IDLE_MS = 1_500;
  let proxy: Server;
  afterAll(() => proxy?.close());

  /** Passes bytes on in both directions; a connection on which nothing comes back for a while is cut. */
  async function listen(): Promise<number> {
    const { hostname, port } = new URL(stage.httpUrl);
    proxy = createServer((client) => {
      const server = connect(Number(port), hostname);
      client.pipe(server).pipe(client);
      server.setTimeout(IDLE_MS, () => client.destroy());
      for (const socket of [client, server]) socket.on('error', () => undefined);
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    return (proxy.address() as { port: number }).port;
  }

  it('does not cut a stream of 0.3: comments keep it open (S000-17)', async () => {
    const url = `http://127.0.0.1:${await listen()}/agents/echo/jsonrpc`;
    await expect(post('message/send', { message: said('sleep 4000') }, url)).rejects.toThrow();
    const answers = await stream('message/stream', { message: said('sleep 4000') }, url);
    expect(answers.at(-1)?.result).toMatchObject({ status: { state: 'completed' }, final: true });
  });
});

describe('In 0.3 as in 1.0, a message', () => {
  onEveryBinding('keeps what its parts say beside their text (B114)', async (client) => {
    const more = { metadata: { a: [1, null, { b: 'ü' }], empty: {} } };
    const parts = [
      { text: 'hello', metadata: { lang: 'en' } },
      { data: { k: null }, ...more },
    ] as JsonObject[];
    const { id } = await send(client, says('', { parts, ...more }));
    const [first] = (await read(client, id)).history;
    expect(first).toMatchObject({ parts, ...more });
    return first;
  });

  onEveryBinding(
    'brings files byte for byte (B102)',
    async (client) => {
      const raw = Buffer.from(Uint8Array.from({ length: 256 }, (_, byte) => byte)).toString('base64');
      const file = { raw, mediaType: 'text/x-diff', filename: 'ü.diff' };
      const { id } = await send(client, says('', { parts: [{ text: 'what is this?' }, file] }));
      const [first] = (await read(client, id)).history;
      expect(first?.parts[1]).toEqual(file);
      return first;
    },
    { agent: 'code-reviewer' },
  );
});

describe('In 0.3 alone', () => {
  const old = () => stage.oldClients();

  it('a stream ends at AUTH_REQUIRED too (S001-06)', async () => {
    for (const client of old()) {
      const { frames } = await client.call('sendStreamingMessage', { message: says('auth') });
      expect(kinds(frames!).at(-1)).toBe('AUTH_REQUIRED');
    }
  });

  it('a task that has ended is a stream of itself (S000-21, S001-10)', async () => {
    for (const client of old()) {
      const task = await send(client, 'hello');
      const { frames } = await client.call('subscribeToTask', { id: task.id });
      expect(frames).toEqual([{ task }]);
    }
  });

  it('a message over HTTP+JSON names no other tasks, which strict readers would refuse (B114)', async () => {
    const referring = { referenceTaskIds: ['t-1'] };
    for (const maker of stage.everyone()) {
      const { id } = await send(maker, says('hello', referring));
      for (const reader of stage.everyone()) {
        const [first] = (await read(reader, id)).history;
        if (reader.version === '0.3' && reader.binding === 'HTTP+JSON') {
          expect(first).not.toHaveProperty('referenceTaskIds');
        } else expect(first).toMatchObject(referring);
      }
    }
  });

  it('everyone sees the card where there is no other one, over HTTP+JSON and gRPC (S002-173)', async () => {
    const [rpc, ...others] = stage.oldClients('deployer');
    for (const client of others) {
      const { result } = await client.call('getExtendedAgentCard');
      expect(result).toMatchObject({ result: { name: 'Deployer', preferredTransport: 'JSONRPC' } });
    }
    const { refusal } = await rpc!.call('getExtendedAgentCard');
    expect(refusal?.reason).toBe('EXTENDED_AGENT_CARD_NOT_CONFIGURED');
  });

  it('agents that do not serve it refuse it on every binding (S002-171, B121)', async () => {
    const message = says('hello');
    for (const client of stage.oldClients('conformance')) {
      for (const [operation, request] of [
        ['getTask', { id: 'unknown' }],
        ['cancelTask', { id: 'unknown' }],
        ['sendMessage', { message }],
        ['sendStreamingMessage', { message }],
        ['subscribeToTask', { id: 'unknown' }],
      ] as const) {
        expect((await client.call(operation, request)).refusal?.reason).toBe('VERSION_NOT_SUPPORTED');
      }
    }
  });
});

describe('A run that is silent for too long', () => {
  const scripted = new ScriptStage({
    scripts: {
      hang: async function* ({ signal }) {
        yield working();
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
      },
    },
    agent: { settings: { inactivityMs: 300 } },
  });

  conformance(scripted).onEveryBinding('ends its task as FAILED (S000-28)', async (client) => {
    const task = await send(client, 'hang');
    expect(task.status.state).toBe('TASK_STATE_FAILED');
    return task.status;
  });
});
