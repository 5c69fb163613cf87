import type { Client } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { metadata, unary } from '../support/bindings.js';
import { oldGrpcClient } from '../support/old.bindings.js';
import { readSse } from './clients/index.js';
import { ServiceStage } from './stage.js';
import { read } from './task.calls.js';

const stage = new ServiceStage();

const BYTES = Buffer.from(Uint8Array.from({ length: 256 }, (_, byte) => byte));
/** The bytes as the SDKs for Python, Go and Java put them on the wire. */
const TEXT = Buffer.from(BYTES.toString('base64'));
/** Base64 by accident, and none at all. */
const WORD = Buffer.from('test');
const WORDS = Buffer.from('no base64: =\n');

interface Part {
  readonly file: { readonly fileWithBytes: string | Buffer };
}
interface TaskProto {
  readonly id: string;
  readonly history: readonly { readonly content: readonly Part[] }[];
  readonly artifacts: readonly { readonly parts: readonly Part[] }[];
}

/** What went in, as a client of 1.0 reads it, and what came back: in the answer, a read and a stream. */
interface Travelled {
  readonly stored: Buffer;
  readonly back: readonly Buffer[];
}

const bytesOf = ({ file }: Part) => Buffer.from(file.fileWithBytes as string, 'base64');
const filesOf = ({ history, artifacts }: TaskProto) => [history[0]!.content[0]!, artifacts[0]!.parts[0]!];

async function stored(id: string): Promise<Buffer> {
  const { history, artifacts } = await read(stage.clients()[0]!, id);
  const [said, made] = [history[0]!.parts[0]!.raw, artifacts[0]!.parts[0]!.raw];
  expect(made).toBe(said);
  return Buffer.from(said as string, 'base64');
}

const message = (fileWithBytes: string | Buffer) => ({
  messageId: crypto.randomUUID(),
  role: 'ROLE_USER',
  content: [{ file: { fileWithBytes, mimeType: 'application/octet-stream' } }],
});

async function overHttp(file: Buffer, agent: string): Promise<Travelled> {
  const headers = { 'content-type': 'application/json', 'user-agent': agent };
  const ask = (path: string, method: 'GET' | 'POST') =>
    fetch(`${stage.httpUrl}/rest/v1${path}`, {
      method,
      headers,
      body: method === 'POST' ? JSON.stringify({ message: message(file.toString('base64')) }) : undefined,
    });
  const { task } = (await (await ask('/message:send', 'POST')).json()) as { task: TaskProto };
  const found = (await (await ask(`/tasks/${task.id}`, 'GET')).json()) as TaskProto;
  const { tasks } = (await (await ask('/tasks?includeArtifacts=true&pageSize=1', 'GET')).json()) as {
    tasks: TaskProto[];
  };
  const back = [task, found, ...tasks].flatMap(filesOf).map(bytesOf);
  for await (const { data } of readSse((await ask('/message:stream', 'POST')).body!)) {
    const { artifactUpdate } = JSON.parse(data ?? '{}');
    if (artifactUpdate) back.push(bytesOf(artifactUpdate.artifact.parts[0]));
  }
  return { stored: await stored(task.id), back };
}

describe('A file over HTTP+JSON', () => {
  it.each(['python-httpx/0.28.1', 'Java-http-client/17.0.2'])(
    'of the SDK that is %s is base64 text in both directions, and bytes inside (B102)',
    async (agent) => {
      expect(await overHttp(TEXT, agent)).toEqual({ stored: BYTES, back: Array(7).fill(TEXT) });
    },
  );
  it('of anyone else is bytes, whatever they look like (B102)', async () => {
    for (const file of [BYTES, TEXT, WORD]) {
      expect(await overHttp(file, 'curl/8')).toEqual({ stored: file, back: Array(7).fill(file) });
    }
  });
  it('of the Python SDK that is no base64 text is bytes (B102)', async () => {
    expect((await overHttp(WORDS, 'python-httpx/0.28.1')).stored).toEqual(WORDS);
  });
});

describe('The Java SDK over HTTP+JSON', () => {
  it('is told nothing that the first proto of 0.3 did not have, which it would refuse (B114)', async () => {
    const headers = { 'content-type': 'application/json', 'user-agent': 'Java-http-client/17.0.2' };
    const file = { fileWithUri: 'https://files.example/a', name: 'a', mimeType: 'text/plain' };
    const content = [{ text: 'hello', metadata: { k: 1 } }, { file }, { data: { data: { k: null } } }];
    const known = [{ text: 'hello' }, { file: { ...file, name: undefined } }, content[2]];
    const body = () => JSON.stringify({ message: { ...message(''), content } });
    const send = (path: string) =>
      fetch(`${stage.httpUrl}/rest/v1${path}`, { method: 'POST', headers, body: body() });

    const { task } = (await (await send('/message:send')).json()) as { task: TaskProto };
    expect(task.history[0]!.content).toEqual(known);
    expect(task.artifacts[0]!.parts).toEqual(known);
    const parts: unknown[] = [];
    for await (const { data } of readSse((await send('/message:stream')).body!)) {
      const { artifactUpdate } = JSON.parse(data ?? '{}');
      if (artifactUpdate) parts.push(...artifactUpdate.artifact.parts);
    }
    expect(parts).toEqual(known);
    const { history } = await read(stage.clients()[0]!, task.id);
    expect(history[0]!.parts[0]).toEqual({ text: 'hello', metadata: { k: 1 } });
  });
});

describe.each([
  ['Python', 'grpc-python-asyncio/1.76.0'],
  ['Go', 'grpc-go/1.73.0'],
  ['Java', 'grpc-java-netty/1.73.0'],
])('A file over gRPC of the %s SDK', (_, agent) => {
  const stub = clientOf(agent);

  it('is base64 text in both directions, and bytes inside (B102)', async () => {
    expect(await overGrpc(stub(), TEXT)).toEqual({ stored: BYTES, back: Array(5).fill(TEXT) });
  });
});

describe('A file over gRPC of anyone else', () => {
  const stub = clientOf();

  it('is bytes, whatever they look like (B102)', async () => {
    for (const file of [BYTES, TEXT, WORD]) {
      expect(await overGrpc(stub(), file)).toEqual({ stored: file, back: Array(5).fill(file) });
    }
  });
});

function clientOf(agent?: string): () => Client {
  let stub: Client;
  beforeAll(() => {
    stub = oldGrpcClient(stage.grpcAddress, agent === undefined ? {} : { 'grpc.primary_user_agent': agent });
  });
  afterAll(() => stub?.close());
  return () => stub;
}

async function overGrpc(stub: Client, file: Buffer): Promise<Travelled> {
  const none = metadata({});
  const sent = await unary(stub, 'SendMessage', { request: message(file) }, none);
  const { task } = sent.reply as unknown as { task: TaskProto };
  const found = await unary(stub, 'GetTask', { name: `tasks/${task.id}` }, none);
  const tasks = [task, found.reply as unknown as TaskProto];
  const back = tasks.flatMap(filesOf).map(({ file }) => file.fileWithBytes as Buffer);
  const { sendStreamingMessage } = stub as unknown as Record<
    string,
    (request: object) => AsyncIterable<object>
  >;
  for await (const frame of sendStreamingMessage!.call(stub, { request: message(file) })) {
    const { artifactUpdate } = frame as { artifactUpdate?: { artifact: { parts: Part[] } } };
    if (artifactUpdate) back.push(artifactUpdate.artifact.parts[0]!.file.fileWithBytes as Buffer);
  }
  return { stored: await stored(task.id), back };
}
