import type { JsonObject } from '@bufbuild/protobuf';
import type { Task } from 'a2a-sdk-v03';
import { ClientFactory, JsonRpcTransportFactory, RestTransportFactory } from 'a2a-sdk-v03/client';
import { GrpcTransportFactory } from 'a2a-sdk-v03/client/grpc';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BINDINGS, callAny } from '../support/any.binding.js';
import { type AnyStream, type ArtifactJson, openStream } from '../support/any.stream.js';
import { DatabaseGate } from '../support/database.gate.js';
import { until } from '../support/house.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';
import { administer } from '../support/postgres.setup.js';
import { type RunningService, startService } from '../support/service.js';

const LEASE_MS = 2_000;
/** For what a loaded machine does in its own time. */
const PATIENCE_MS = 40_000;

let database: TestDatabase;
let running: RunningService[] = [];
beforeEach(async () => {
  database = await createDatabase();
});
afterEach(async () => {
  await Promise.all(running.map((service) => service.kill()));
  running = [];
  await database.drop();
});

async function start(env: Record<string, string> = {}, at: TestDatabase = database): Promise<RunningService> {
  const settings = { PARLEY_LEASE_MS: `${LEASE_MS}`, PARLEY_AGENTS: 'echo', ...env };
  const service = await startService({ database: at, env: settings });
  running.push(service);
  return service;
}

const pair = (env?: Record<string, string>) => Promise.all([start(env), start(env)]);

interface TaskJson {
  readonly id: string;
  readonly status: { readonly state: string };
  readonly artifacts?: readonly ArtifactJson[];
  readonly history?: readonly { readonly messageId: string }[];
}

function message(text: string, more: JsonObject = {}): JsonObject {
  return { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...more };
}

async function send(service: RunningService, request: JsonObject): Promise<TaskJson> {
  const answer = await callAny(service, { binding: 'JSONRPC', operation: 'sendMessage', request });
  expect(answer.reason).toBeUndefined();
  return (answer.reply as { task?: TaskJson }).task!;
}

const begin = (service: RunningService, text: string) =>
  send(service, { message: message(text), configuration: { returnImmediately: true } });

async function get(service: RunningService, id: string): Promise<TaskJson> {
  const answer = await callAny(service, { binding: 'JSONRPC', operation: 'getTask', request: { id } });
  return answer.reply as unknown as TaskJson;
}

const ended = (service: RunningService, id: string) =>
  until(async () => (await get(service, id)).status.state === 'TASK_STATE_COMPLETED', PATIENCE_MS);

/** The chunks of a task, as one text. */
const textOf = (artifacts: readonly ArtifactJson[] = []) =>
  artifacts.flatMap(({ parts }) => parts.map(({ text }) => text)).join('');
const chunks = (count: number) => Array.from({ length: count }, (_, n) => `chunk ${n + 1}\n`).join('');

const subscribe = (service: RunningService, id: string, binding: (typeof BINDINGS)[number]) =>
  openStream(service, { binding, operation: 'subscribeToTask', request: { id } });

/** All chunks that a stream has shown, those of its snapshot included. */
function shown({ frames }: AnyStream): string {
  return frames
    .map(({ task, artifactUpdate }) => textOf(artifactUpdate ? [artifactUpdate.artifact] : task?.artifacts))
    .join('');
}

describe('two replicas as processes', () => {
  it('serve 0.3 on every binding: begun on one, read and followed on the other (S000-19)', async () => {
    const [a, b] = await pair();
    for (const binding of BINDINGS) {
      const transports = [
        new JsonRpcTransportFactory(),
        new RestTransportFactory(),
        new GrpcTransportFactory(),
      ];
      const factory = new ClientFactory({ transports, preferredTransports: [binding] });
      const maker = await factory.createFromUrl(`${a.httpUrl}/agents/echo/`);
      const other = await factory.createFromUrl(`${b.httpUrl}/agents/echo/`);
      const parts = [{ kind: 'text' as const, text: 'chunks 20 50' }];
      const said = { kind: 'message', messageId: crypto.randomUUID(), role: 'user', parts } as const;
      const begun = maker.sendMessageStream({ message: { ...said, parts } });
      const { id } = (await begun.next()).value as Task;
      expect(await other.getTask({ id })).toMatchObject({ kind: 'task', id });
      let last: unknown;
      for await (const event of other.resubscribeTask({ id })) last = event;
      expect(last).toMatchObject({ taskId: id, status: { state: 'completed' }, final: true });
      await begun.return(undefined);
    }
  });

  it('serve readers of both from one log, also after their connections for hints were cut (B67)', async () => {
    const [a, b] = await pair();
    const { id } = await begin(a, 'chunks 60 50');
    const streams = BINDINGS.map((binding) => subscribe(b, id, binding));
    await until(() => streams.every((stream) => shown(stream).includes('chunk 10\n')), PATIENCE_MS);
    const cut =
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'parley events'";
    await administer(database.url, cut);
    for (const stream of streams) {
      expect(await stream.ended).toBe('end');
      expect(shown(stream)).toBe(chunks(60));
    }
    expect((await get(b, id)).status.state).toBe('TASK_STATE_COMPLETED');
  });

  it('answer the same message on either with the one task, when it rests (B67)', async () => {
    const [a, b] = await pair();
    const request = { message: message('chunks 20 50') };
    const answers = await Promise.all([send(a, request), send(b, request), send(b, request)]);
    for (const task of answers) {
      expect(task.id).toBe(answers[0].id);
      expect(task.status.state).toBe('TASK_STATE_COMPLETED');
      expect(textOf(task.artifacts)).toBe(chunks(20));
    }
  });

  it('go on with a task after kill -9 of the one that ran it, under its id, and its readers see it (B80, B81)', async () => {
    const [a, b] = await pair();
    const request = { message: message('chunks 50 60'), configuration: { returnImmediately: true } };
    const { id } = await send(a, request);
    const stream = subscribe(b, id, 'HTTP+JSON');
    await until(() => shown(stream).includes('chunk 5\n'), PATIENCE_MS);
    await a.kill();
    expect((await send(b, request)).id).toBe(id);

    expect(await stream.ended).toBe('end');
    expect(stream.frames.at(-1)?.statusUpdate?.status.state).toBe('TASK_STATE_COMPLETED');
    const task = await get(b, id);
    expect(textOf(task.artifacts)).toBe(chunks(50));
    expect(task.history).toHaveLength(1);
  });

  it('let one that stood still for longer than its lease write nothing when it comes back (B81)', async () => {
    const [a, b] = await pair();
    const { id } = await begin(a, 'chunks 60 50');
    const stream = subscribe(b, id, 'JSONRPC');
    await until(() => shown(stream).includes('chunk 5\n'), PATIENCE_MS);
    process.kill(a.pid, 'SIGSTOP');
    try {
      await ended(b, id);
    } finally {
      process.kill(a.pid, 'SIGCONT');
    }
    const task = await get(b, id);
    // By the time that it has done this, it has tried to go on with its turn.
    await send(a, { message: message('chunks 20 20') });
    expect(await get(a, id)).toEqual(task);
    expect(textOf(task.artifacts)).toBe(chunks(60));
    expect(await stream.ended).toBe('end');
  });

  it('take a message for a task whose replica was killed, and run one turn at a time (B34)', async () => {
    const [a, b] = await pair();
    const { id } = await begin(a, 'sleep 60000');
    await until(async () => (await get(b, id)).status.state === 'TASK_STATE_WORKING', PATIENCE_MS);
    await a.kill();
    const next = message('hello again', { taskId: id });
    await Promise.all([send(b, { message: next, configuration: { returnImmediately: true } })]);
    await until(async () => (await get(b, id)).history?.length === 2, PATIENCE_MS);
    const answer = await callAny(b, { binding: 'HTTP+JSON', operation: 'cancelTask', request: { id } });
    expect(answer.reason).toBeUndefined();
    expect((await get(b, id)).status.state).toBe('TASK_STATE_CANCELED');
  });

  it('keep all chunks in order up to a cancel that comes through the other (B65)', async () => {
    const [a, b] = await pair();
    const { id } = await begin(a, 'chunks 5000 1');
    const stream = subscribe(b, id, 'GRPC');
    await until(() => shown(stream).includes('chunk 50\n'), PATIENCE_MS);
    const answer = await callAny(b, { binding: 'GRPC', operation: 'cancelTask', request: { id } });
    const cancelled = answer.reply as unknown as TaskJson;
    expect(cancelled.status.state).toBe('TASK_STATE_CANCELED');
    expect(await stream.ended).toBe('end');

    const text = textOf(cancelled.artifacts);
    expect(text).toBe(chunks(text.split('\n').length - 1));
    expect(shown(stream)).toBe(text);
    expect(await get(a, id)).toEqual(cancelled);
  });
});

describe('a replica that goes down', () => {
  it('finishes its calls, ends its streams and hands its turns over (B122)', async () => {
    const [a, b] = await pair({ PARLEY_DRAIN_MS: '3000' });
    const long = await begin(a, 'chunks 100 100');
    const request = { message: message('sleep 1500') };
    const unary = BINDINGS.map((binding) => callAny(a, { binding, operation: 'sendMessage', request }));
    const streams = BINDINGS.map((binding) => subscribe(a, long.id, binding));
    await until(() => streams.every((stream) => shown(stream).includes('chunk 3\n')), PATIENCE_MS);
    running.splice(running.indexOf(a), 1);
    const code = a.stop();

    for (const answer of await Promise.all(unary)) {
      expect((answer.reply as { task?: TaskJson }).task?.status.state).toBe('TASK_STATE_COMPLETED');
    }
    const ends = await Promise.all(streams.map((stream) => stream.ended));
    expect(ends).toEqual(['end', 'end', 'UNAVAILABLE']);
    expect(await code).toBe(0);
    const resumed = streams.map((stream, index) =>
      openStream(b, {
        binding: BINDINGS[index]!,
        operation: 'subscribeToTask',
        request: { id: long.id },
        lastEventId: stream.lastEventId(),
      }),
    );
    expect(await Promise.all(resumed.map((stream) => stream.ended))).toEqual(['end', 'end', 'end']);
    expect(resumed.flatMap(({ frames }) => frames).some(({ task }) => task)).toBe(false);
    const task = await get(b, long.id);
    expect(task.status.state).toBe('TASK_STATE_COMPLETED');
    expect(textOf(task.artifacts)).toBe(chunks(100));
  });
});

describe('a database that goes and comes back', () => {
  it('costs answers that say when to try again, and no task, without a restart', async () => {
    const gate = await DatabaseGate.open(database.url);
    const service = await start({}, { ...database, url: gate.url });
    const tasks = await Promise.all(Array.from({ length: 5 }, () => begin(service, 'chunks 40 50')));
    await gate.shut();
    const hello = { message: message('hello') };
    for (const binding of BINDINGS) {
      const answer = await callAny(service, { binding, operation: 'sendMessage', request: hello });
      expect([binding, answer.reason]).toEqual([binding, 'UNAVAILABLE']);
    }
    const refused = await fetch(`${service.httpUrl}/rest/tasks/${tasks[0]!.id}`, {
      headers: { 'a2a-version': '1.0' },
    });
    expect(refused.status).toBe(503);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await fetch(`${service.httpUrl}/health/ready`)).status).toBe(503);

    await gate.reopen();
    for (const { id } of tasks) {
      await ended(service, id);
      expect(textOf((await get(service, id)).artifacts)).toBe(chunks(40));
    }
    expect((await send(service, hello)).status.state).toBe('TASK_STATE_COMPLETED');
    expect((await fetch(`${service.httpUrl}/health/ready`)).status).toBe(200);
    running.splice(running.indexOf(service), 1);
    expect(await service.stop()).toBe(0);
    await gate.shut();
  });
});
