import { connect } from 'node:net';
import type { JsonObject } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { artifact, completed, textPart, working } from '../../src/agents/index.js';
import { startBindings } from '../support/bindings.js';
import { type BindingClient, type OpenStream, readSse, type SseFrame } from './clients/index.js';
import { conformance } from './conformance.case.js';
import { Gate } from './gate.js';
import { ScriptStage, ServiceStage, Stage } from './stage.js';
import { kinds, reaches, read, refused, says, start, type TaskJson, textOf } from './task.calls.js';
import { FINAL_TASK } from './v03/modern.only.js';

const stage = new ServiceStage({ PARLEY_SSE_HEARTBEAT_MS: '50' });
const { conforms, onEveryBinding } = conformance(stage);

const open = (client: BindingClient, text: string) =>
  client.stream('sendStreamingMessage', { message: says(text) });

/** The task of a stream's first frame. */
async function first(stream: OpenStream): Promise<TaskJson> {
  const frame = await stream.next();
  expect(Object.keys(frame ?? {})).toEqual(['task']);
  return (frame as { task: TaskJson }).task;
}

const chunksOf = (frames: readonly JsonObject[]) =>
  frames.flatMap(({ artifactUpdate }) => {
    const update = artifactUpdate as { artifact: Parameters<typeof textOf>[0] } | undefined;
    return update ? [textOf(update.artifact)] : [];
  });

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

describe('A stream of a task', () => {
  onEveryBinding(
    'begins with the Task and goes to its end, each event whole (S002-013, S002-014, S002-015, S002-018, S001-05)',
    async (client) => {
      const stream = await open(client, 'chunks 3');
      const frames = await stream.rest();
      expect(kinds(frames)).toEqual(['task', 'WORKING', ...Array(3).fill('artifactUpdate'), 'COMPLETED']);
      const { task } = frames[0] as { task: TaskJson };
      const { id: taskId, contextId } = task;
      expect(task.history).toMatchObject([{ taskId, contextId, parts: [{ text: 'chunks 3' }] }]);
      for (const { statusUpdate } of frames as { statusUpdate?: TaskJson }[]) {
        if (!statusUpdate) continue;
        expect(statusUpdate).toMatchObject({ taskId, contextId });
        expect(statusUpdate.status.timestamp).toMatch(TIME);
        expect(statusUpdate).not.toHaveProperty('final');
      }
      expect(task.status.timestamp).toMatch(TIME);
      return frames;
    },
  );

  onEveryBinding('ends with what GetTask says from then on (S002-019)', async (client) => {
    const frames = await (await open(client, 'chunks 5')).rest();
    const { task } = frames[0] as { task: TaskJson };
    const { statusUpdate } = frames.at(-1) as { statusUpdate: TaskJson };
    const stored = await read(client, task.id);
    expect(stored.status).toEqual(statusUpdate.status);
    expect(textOf(stored.artifacts[0])).toBe(chunksOf(frames).join(''));
    return stored;
  });

  conforms({
    title: 'of an agent that just talks is one Message, then the end (S002-020)',
    operation: 'sendStreamingMessage',
    request: () => ({ message: says('message hi') }),
    expect: ({ frames }) => expect(kinds(frames!)).toEqual(['message']),
  });

  onEveryBinding(
    'shows a failed agent as FAILED, under an id that can be read (B10, B09)',
    async (client) => {
      const frames = await (await open(client, 'throw up')).rest();
      expect(kinds(frames)).toEqual(['task', 'FAILED']);
      const { id } = (frames[0] as { task: TaskJson }).task;
      expect((await read(client, id)).status.state).toBe('TASK_STATE_FAILED');
      return frames;
    },
  );

  onEveryBinding('may be left; the task goes on and keeps everything (B07, S002-149)', async (client) => {
    const stream = await open(client, 'chunks 20 20');
    const { id } = await first(stream);
    stream.leave();
    const task = await reaches(client, id, 'COMPLETED');
    expect(task.artifacts[0]?.parts).toHaveLength(20);
  });

  onEveryBinding('goes on after the last event seen, without the snapshot', async (client) => {
    const { id } = await start(client, 'chunks 4 60');
    await reaches(client, id, 'COMPLETED');
    const name = client.binding === 'gRPC' ? 'a2a-last-event-id' : 'last-event-id';
    const stream = await client.stream('subscribeToTask', { id }, { [name]: '3' });
    const frames = await stream.rest();
    expect(chunksOf(frames)).toEqual(['chunk 2\n', 'chunk 3\n', 'chunk 4\n']);
    return frames;
  });
});

describe('Chunks', () => {
  const text = (value: string) => [textPart(value)];
  const scripted = new ScriptStage({
    scripts: {
      interleaved: () => [
        working(),
        artifact({ artifactId: 'a', name: 'first', parts: text('a1') }),
        artifact({ artifactId: 'b', parts: text('b1') }),
        artifact({ artifactId: 'a', parts: text('a2') }, { append: true, lastChunk: true }),
        artifact({ artifactId: 'b', parts: text('b2') }, { append: true }),
        artifact({ artifactId: 'b', parts: text('b3') }, { append: true, lastChunk: true }),
        completed(),
      ],
    },
  });

  conformance(scripted).onEveryBinding(
    'of two artifacts do not mix, and the last of one closes that one alone (S002-016, S002-017)',
    async (client) => {
      const frames = await (await open(client, 'interleaved')).rest();
      expect(chunksOf(frames)).toEqual(['a1', 'b1', 'a2', 'b2', 'b3']);
      const { id } = (frames[0] as { task: TaskJson }).task;
      const { artifacts } = await read(client, id);
      expect(artifacts.map((one) => [one.artifactId, textOf(one)])).toEqual([
        ['a', 'a1a2'],
        ['b', 'b1b2b3'],
      ]);
      return [frames, artifacts];
    },
  );
});

describe('Subscribing', () => {
  const gates = new Map<string, Gate>();
  const chunk = (n: number) => artifact({ artifactId: 'a', parts: [textPart(`${n};`)] }, { append: n > 0 });
  const scripted = new ScriptStage({
    scripts: {
      gated: async function* ({ task }) {
        yield working();
        yield chunk(0);
        await Gate.of(gates, task.id).opened;
        for (let n = 1; n < 40; n++) yield chunk(n);
        yield completed();
      },
    },
  });
  const { onEveryBinding: onEveryScripted, conforms: conformsScripted } = conformance(scripted);

  /** Starts a task that waits at its gate after the first chunk. */
  async function gated(client: BindingClient) {
    const { id } = await start(client, 'gated');
    const started = async () => (await read(client, id)).artifacts?.length;
    await expect.poll(started).toBe(1);
    return { id, gate: Gate.of(gates, id) };
  }

  onEveryBinding(
    'while chunks are made gives the snapshot, then only what is newer (S002-117, S000-20, S001-10, B01)',
    async (client) => {
      const { id } = await start(client, 'chunks 40 5');
      const streams = await Promise.all([1, 2, 3].map(() => client.stream('subscribeToTask', { id })));
      const told = await Promise.all(
        streams.map(async (stream) => {
          const snapshot = await first(stream);
          return textOf(snapshot.artifacts?.[0]) + chunksOf(await stream.rest()).join('');
        }),
      );
      const stored = textOf((await read(client, id)).artifacts[0]);
      expect(stored.match(/chunk/g)).toHaveLength(40);
      expect(told).toEqual([stored, stored, stored]);
    },
  );

  onEveryScripted('twice gives the same frames in the same order (S002-118)', async (client) => {
    const { id, gate } = await gated(client);
    const streams = await Promise.all([1, 2].map(() => client.stream('subscribeToTask', { id })));
    gate.open();
    const [one, two] = await Promise.all(streams.map((stream) => stream.rest()));
    expect(one).toHaveLength(41);
    expect(two).toEqual(one);
    return one;
  });

  onEveryScripted(
    'and leaving again disturbs neither the task nor another (S002-119, B35)',
    async (client) => {
      const { id, gate } = await gated(client);
      const leaver = await client.stream('subscribeToTask', { id });
      const stayer = await client.stream('subscribeToTask', { id });
      await first(leaver);
      leaver.leave();
      gate.open();
      const frames = await stayer.rest();
      expect(chunksOf(frames)).toHaveLength(39);
      expect(textOf((await read(client, id)).artifacts[0])).toContain('0;1;2;');
      return frames;
    },
  );

  conformsScripted({
    title: 'to a task that has ended is refused in plain form (S002-115, B03)',
    modernOnly: FINAL_TASK,
    operation: 'subscribeToTask',
    given: async (client) => {
      const { id, gate } = await gated(client);
      gate.open();
      return reaches(client, id, 'COMPLETED');
    },
    request: ({ id }) => ({ id }),
    expect: refused('UNSUPPORTED_OPERATION'),
  });

  conforms({
    title: 'to an unknown task is refused before any event (S002-123, B31)',
    operation: 'subscribeToTask',
    request: { id: 'unknown' },
    expect: refused('TASK_NOT_FOUND'),
  });
  conforms({
    title: 'by a message to an unknown task is refused before any event (S002-123, B47)',
    operation: 'sendStreamingMessage',
    request: () => ({ message: says('x', { taskId: 'unknown' }) }),
    expect: refused('TASK_NOT_FOUND'),
  });

  it.each(['GET', 'POST'])('over HTTP is a %s (S002-120, B109)', async (method) => {
    const [, rest] = stage.clients();
    const { id } = await start(rest!, 'chunks 3 100');
    const url = `${stage.httpUrl}/rest/tasks/${id}:subscribe`;
    const response = await fetch(url, { method, headers: { 'a2a-version': '1.0' } });
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    const [head, ...tail] = (await all(readSse(response.body!))).filter(({ data }) => data);
    expect(JSON.parse(head!.data!)).toHaveProperty('task.id', id);
    expect(JSON.parse(tail.at(-1)!.data!)).toHaveProperty(
      'statusUpdate.status.state',
      'TASK_STATE_COMPLETED',
    );
  });
});

async function all(frames: AsyncIterable<SseFrame>): Promise<SseFrame[]> {
  const list: SseFrame[] = [];
  for await (const frame of frames) list.push(frame);
  return list;
}

describe('Server-sent events', () => {
  it('are complete JSON-RPC responses with the id of the request (S002-012, B24)', async () => {
    const request = {
      jsonrpc: '2.0',
      id: 42,
      method: 'SendStreamingMessage',
      params: { message: says('hi') },
    };
    const response = await fetch(`${stage.httpUrl}/jsonrpc`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
      body: JSON.stringify(request),
    });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    const frames = (await all(readSse(response.body!))).filter(({ data }) => data);
    expect(frames.length).toBeGreaterThan(2);
    for (const { data } of frames) {
      expect(JSON.parse(data!)).toEqual({ jsonrpc: '2.0', id: 42, result: expect.any(Object) });
    }
  });

  it('hold the StreamResponse alone on HTTP+JSON (S002-144)', async () => {
    const response = await fetch(`${stage.httpUrl}/rest/message:stream`, {
      method: 'POST',
      headers: { 'content-type': 'application/a2a+json', 'a2a-version': '1.0' },
      body: JSON.stringify({ message: says('hi') }),
    });
    const members = (await all(readSse(response.body!)))
      .filter(({ data }) => data)
      .map(({ data }) => Object.keys(JSON.parse(data!)));
    expect(members[0]).toEqual(['task']);
    expect(new Set(members.slice(1).flat())).toEqual(new Set(['artifactUpdate', 'statusUpdate']));
  });

  it('show that the connection lives while the agent is silent (S002-121, B27, B28)', async () => {
    const response = await fetch(`${stage.httpUrl}/rest/message:stream`, {
      method: 'POST',
      headers: { 'content-type': 'application/a2a+json', 'a2a-version': '1.0' },
      body: JSON.stringify({ message: says('sleep 500') }),
    });
    expect(response.headers.get('x-accel-buffering')).toBe('no');
    expect(response.headers.get('cache-control')).toBe('no-cache, no-transform');
    const frames = await all(readSse(response.body!));
    expect(frames.filter((frame) => frame.comment !== undefined && !frame.data).length).toBeGreaterThan(3);
    expect(frames.filter(({ data }) => data)).toHaveLength(4);
  });
});

describe('A reader that never reads', () => {
  const scripted = new ScriptStage({
    scripts: {
      long: async function* () {
        yield working();
        for (let n = 0; n < 800; n++) {
          const parts = [textPart(`${n}`.padEnd(10_000, '.'))];
          yield artifact({ artifactId: 'a', parts }, { append: n > 0 });
        }
        yield completed();
      },
    },
  });

  it('slows neither the task nor another reader (S002-122)', async () => {
    const [jsonRpc, rest] = scripted.clients();
    const { hostname, port } = new URL(scripted.httpUrl);
    const { id } = await start(rest!, 'long');
    const sluggard = connect(Number(port), hostname);
    sluggard.pause();
    sluggard.write(`GET /rest/tasks/${id}:subscribe HTTP/1.1\r\nHost: x\r\nA2A-Version: 1.0\r\n\r\n`);
    const eager = await jsonRpc!.stream('subscribeToTask', { id });
    const snapshot = await first(eager);
    const frames = await eager.rest();
    expect((snapshot.artifacts?.[0]?.parts.length ?? 0) + chunksOf(frames).length).toBe(800);
    expect((await read(rest!, id)).status.state).toBe('TASK_STATE_COMPLETED');
    sluggard.destroy();
  });
});

describe('An agent that does not stream', () => {
  it('says so in plain form on every binding, before anything else (S002-011)', async () => {
    const bindings = await startBindings({ capabilities: { streaming: false } });
    const silent = new (class extends Stage {
      httpUrl = bindings.url;
      grpcAddress = bindings.grpc;
    })();
    for (const client of silent.clients()) {
      for (const operation of ['sendStreamingMessage', 'subscribeToTask'] as const) {
        const request: JsonObject =
          operation === 'subscribeToTask' ? { id: 'unknown' } : { message: says('hi') };
        refused('UNSUPPORTED_OPERATION')(await client.call(operation, request));
      }
      client.close();
    }
    expect(bindings.operations.calls).toEqual([]);
    await bindings.app.close();
  });
});
