import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type BindingClient, GrpcClient, JsonRpcClient, RestClient } from '../conformance/clients/index.js';
import {
  type ArtifactJson,
  kinds,
  reaches,
  read,
  refused,
  says,
  send,
  start,
  type TaskJson,
  talk,
  textOf,
} from '../conformance/task.calls.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';
import { type RunningService, startService } from '../support/service.js';

let database: TestDatabase;
let running: RunningService[] = [];
beforeEach(async () => {
  database = await createDatabase();
});
afterEach(async () => {
  await Promise.all(running.map((service) => service.stop()));
  running = [];
  await database.drop();
});

async function serve(): Promise<RunningService> {
  const service = await startService({ database, env: { PARLEY_LEASE_MS: '3000' } });
  running.push(service);
  return service;
}

async function crash(service: RunningService): Promise<void> {
  await service.kill();
  running = running.filter((other) => other !== service);
}

const clientsOf = ({ httpUrl, grpcAddress }: RunningService, agent = ''): BindingClient[] => [
  new JsonRpcClient(`${httpUrl}${agent}/jsonrpc`),
  new RestClient(`${httpUrl}${agent}/rest`),
  new GrpcClient(grpcAddress),
];

interface ArtifactFrame {
  readonly artifactUpdate?: { readonly artifact: ArtifactJson };
}

const chunks = (count: number) => Array.from({ length: count }, (_, n) => `chunk ${n + 1}\n`).join('');

describe('kill -9 and a new start on the same data', () => {
  it('runs the task again that was running, where its agent may, with nothing lost or doubled (B80)', async () => {
    const first = await serve();
    const [client] = clientsOf(first);
    const stream = await client!.stream('sendStreamingMessage', { message: says('chunks 2000 1') });
    const { task } = (await stream.next()) as { task: TaskJson };
    const seen: string[] = [];
    while (seen.length < 300) {
      const frame = (await stream.next()) as ArtifactFrame;
      if (frame.artifactUpdate) seen.push(textOf(frame.artifactUpdate.artifact));
    }
    stream.leave();
    await crash(first);
    expect(seen.join('')).toBe(chunks(300));

    const readers = clientsOf(await serve());
    const follower = await readers[0]!.stream('subscribeToTask', { id: task.id });
    expect(kinds(await follower.rest()).at(-1)).toBe('COMPLETED');
    const told = await Promise.all(readers.map((reader) => read(reader, task.id)));
    for (const stored of told) {
      expect(textOf(stored.artifacts[0])).toBe(chunks(2000));
      expect(talk(stored)).toEqual(['chunks 2000 1']);
      expect(stored).toEqual(told[0]);
    }
  }, 120_000);

  it('fails the task that was running, where its agent may not run it again, with the reason (B80)', async () => {
    const first = await serve();
    const [client] = clientsOf(first, '/agents/conformance');
    const { id } = await start(client!, 'tck-cancel');
    await reaches(client!, id, 'WORKING');
    await crash(first);

    const [reader] = clientsOf(await serve(), '/agents/conformance');
    const stored = await reaches(reader!, id, 'FAILED');
    expect(stored.metadata).toEqual({ 'parley.dev/reason': 'REPLICA_LOST' });
    expect(stored.status.message?.parts[0]?.text).toMatch(/interrupted/);
  });

  it('changes nothing of tasks that have ended or wait, their parts and their history (B17, B77)', async () => {
    const first = await serve();
    const [client] = clientsOf(first);
    const data = ['abc', true, 0, null, [], { a: [null] }].map((value) => ({ data: value }));
    const asked = await send(client!, 'ask one?');
    const tasks = [
      await send(client!, says('', { parts: data, metadata: { k: { deep: [1.5, ''] } } })),
      await send(client!, 'fail now'),
      await send(client!, says('ask two?', { taskId: asked.id })),
      await send(client!, 'chunks 700'),
    ];
    await crash(first);

    const second = await serve();
    for (const reader of clientsOf(second)) {
      for (const task of tasks) expect(await read(reader, task.id)).toEqual(task);
    }
    const listed = await clientsOf(second)[1]!.result('listTasks', { includeArtifacts: true });
    expect(listed.totalSize).toBe(4);
  });

  it('lets a client subscribe to a task that waits, and answer it (B02)', async () => {
    const first = await serve();
    const { id } = await send(clientsOf(first)[0]!, 'ask what?');
    await crash(first);

    const [, client] = clientsOf(await serve());
    const stream = await client!.stream('subscribeToTask', { id });
    expect(((await stream.next()) as { task: TaskJson }).task.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
    await send(client!, says('this', { taskId: id }));
    expect(kinds(await stream.rest())).toEqual(['artifactUpdate', 'COMPLETED']);
  });

  it('knows a message again that was sent before (S002-056, B49)', async () => {
    const first = await serve();
    const message = says('hello');
    const { id } = await send(clientsOf(first)[0]!, message);
    await crash(first);

    for (const client of clientsOf(await serve())) {
      const again = await client.call('sendMessage', { message });
      expect(again.result).toHaveProperty('task.id', id);
      expect(again.headers['a2a-idempotent-replay']).toBe('true');
      const other = says('other', { messageId: message.messageId! });
      refused('INVALID_PARAMS', 'message.messageId')(await client.call('sendMessage', { message: other }));
    }
  });
});

describe('Two services over one database', () => {
  it('show the tasks of each other, on every binding (S002-002)', async () => {
    const [one, other] = await Promise.all([serve(), serve()]);
    const made = await send(clientsOf(one)[0]!, says('hello', { metadata: { a: 1 } }));
    for (const reader of clientsOf(other)) expect((await read(reader, made.id)).status).toEqual(made.status);
  });

  it('stream a task of each other in the same order (S002-008, S002-117)', async () => {
    const [one, other] = await Promise.all([serve(), serve()]);
    const { id } = await start(clientsOf(one)[0]!, 'chunks 100 10');
    const told = await Promise.all(
      [...clientsOf(one), ...clientsOf(other)].map(async (client) => {
        const stream = await client.stream('subscribeToTask', { id });
        const { task } = (await stream.next()) as { task: TaskJson };
        const rest = (await stream.rest()) as {
          artifactUpdate?: { artifact: TaskJson['artifacts'][number] };
        }[];
        return [
          textOf(task.artifacts?.[0]),
          ...rest.map((frame) => textOf(frame.artifactUpdate?.artifact)),
        ].join('');
      }),
    );
    expect(told).toEqual(Array(6).fill(chunks(100)));
  });

  it('cancel a task that the other runs (S002-109)', async () => {
    const [one, other] = await Promise.all([serve(), serve()]);
    for (const canceller of clientsOf(other)) {
      const { id } = await start(clientsOf(one)[0]!, 'sleep 60000');
      const task = (await canceller.result('cancelTask', { id })) as TaskJson;
      expect(task.status.state).toBe('TASK_STATE_CANCELED');
      expect((await read(clientsOf(one)[1]!, id)).status).toEqual(task.status);
    }
  });
});
