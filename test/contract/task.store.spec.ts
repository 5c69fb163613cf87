import { randomUUID } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Postgres, SecretCipher } from '../../src/database/index.js';
import {
  type StreamResponse,
  StreamResponseSchema,
  TaskSchema,
  TaskState,
} from '../../src/protocol/index.js';
import { type Lease, TaskFold, type TaskScope, type TaskStore } from '../../src/tasks/index.js';
import { PostgresTaskStore } from '../../src/tasks/postgres-task.store.js';
import { testConfig } from '../support/config.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';

const alice: TaskScope = { organisation: 'acme', owner: 'alice', agent: 'echo' };
const bob: TaskScope = { ...alice, owner: 'bob' };

let database: TestDatabase;
let postgres: Postgres;
let store: TaskStore;
let rival: TaskStore;

beforeAll(async () => {
  database = await createDatabase();
  postgres = new Postgres(testConfig({ PARLEY_DATABASE_URL: database.url }));
  store = new PostgresTaskStore(postgres, { holder: 'one', leaseMs: 60_000 });
  rival = new PostgresTaskStore(postgres, { holder: 'two', leaseMs: 60_000 });
});

afterAll(async () => {
  await postgres.onApplicationShutdown();
  await database.drop();
});

function newTask(contextId: string = randomUUID(), at = Date.now()) {
  const id = randomUUID();
  const message = { messageId: randomUUID(), taskId: id, contextId, role: 1, parts: [text('hello')] };
  return create(TaskSchema, {
    id,
    contextId,
    status: { state: TaskState.SUBMITTED, timestamp: timestampFromMs(at) },
    history: [message],
  });
}

function text(value: string) {
  return { content: { case: 'text' as const, value } };
}

function status(taskId: string, state: TaskState, at = Date.now()): StreamResponse {
  const value = { taskId, status: { state, timestamp: timestampFromMs(at) } };
  return create(StreamResponseSchema, { payload: { case: 'statusUpdate', value } });
}

function chunk(taskId: string, value: string, append = true): StreamResponse {
  const artifact = { artifactId: 'answer', parts: [text(value)] };
  return create(StreamResponseSchema, {
    payload: { case: 'artifactUpdate', value: { taskId, artifact, append } },
  });
}

function message(taskId: string, value: string): StreamResponse {
  return create(StreamResponseSchema, {
    payload: {
      case: 'message',
      value: { messageId: randomUUID(), taskId, role: 1, parts: [text(value)] },
    },
  });
}

async function started(scope = alice, contextId?: string, at?: number): Promise<Lease> {
  const task = newTask(contextId, at);
  return (await store.create({ scope, agentVersion, task, request: { metadata: { a: 1 } } }))!;
}

const end = { read: 1_000 };
const agentVersion = '1.2.0';
const PLACES = [{ agent: 'echo', major: '1' }];

describe('a task store', () => {
  it('reads a new task as it was stored, for its owner alone', async () => {
    const task = newTask();
    await store.create({ scope: alice, agentVersion, task, request: {} });
    expect(await store.read(task.id, alice)).toMatchObject({ task, version: 1, agentVersion });
    expect(await store.read(task.id, bob)).toBeUndefined();
    expect(await store.read(task.id, { ...alice, agent: 'other' })).toBeUndefined();
    expect(await store.read(task.id, { ...alice, organisation: '' })).toBeUndefined();
    expect(await store.read('no uuid', alice)).toBeUndefined();
  });

  it('numbers the events of a task from 1 without gaps, in the order of the calls', async () => {
    const lease = await started();
    const { taskId } = lease;
    const writes = Array.from({ length: 200 }, (_, i) =>
      store.append({ lease, written: i, events: [chunk(taskId, `${i}`)] }),
    );
    const committed = await Promise.all(writes);
    expect(committed.map((c) => c?.events[0]?.seq)).toEqual(Array.from({ length: 200 }, (_, i) => i + 2));
    const events = await store.events(taskId, 1, 1_000);
    expect(events.map((e) => e.seq)).toEqual(Array.from({ length: 200 }, (_, i) => i + 2));
    const { task } = (await store.read(taskId, alice))!;
    expect(task.artifacts[0]?.parts.map((part) => part.content.value)).toEqual(
      Array.from({ length: 200 }, (_, i) => `${i}`),
    );
  });

  it('commits a write that is sent twice once', async () => {
    const lease = await started();
    const write = { lease, written: 0, events: [chunk(lease.taskId, 'once')] };
    expect(await store.append(write)).toBeDefined();
    expect(await store.append(write)).toBeUndefined();
    expect(await store.events(lease.taskId, 1, 10)).toHaveLength(1);
  });

  it('refuses everything once the task has ended', async () => {
    const lease = await started();
    const { taskId } = lease;
    const done = [status(taskId, TaskState.COMPLETED)];
    expect(
      (await store.append({ lease, written: 0, events: done, state: TaskState.COMPLETED, end }))?.ended,
    ).toBe(true);
    const late = { lease, written: 1, events: [chunk(taskId, 'late')] };
    expect(await store.append(late)).toBeUndefined();
    expect(
      await store.deliver({ taskId, event: message(taskId, 'late'), request: {}, scope: alice }),
    ).toBeUndefined();
    expect(await store.requestCancel(taskId, alice)).toBeUndefined();
    expect(await store.acquire(taskId)).toBeUndefined();
    expect(await store.events(taskId, 0, 10)).toHaveLength(2);
  });

  it('refuses the writes of a runner whose lease was taken over', async () => {
    const short = new PostgresTaskStore(postgres, { holder: 'short', leaseMs: 0 });
    const task = newTask();
    const lease = (await short.create({
      scope: alice,
      agentVersion,
      task,
      request: { metadata: { k: 'v' } },
    }))!;
    const claims = await rival.takeExpired(PLACES, 100);
    const claim = claims.find((c) => c.lease.taskId === task.id)!;
    expect(claim).toMatchObject({ attempt: 2, crashes: 1 });
    expect(claim.request).toEqual({ metadata: { k: 'v' } });
    expect(claim.trigger.seq).toBe(1);
    expect(claim.lease.token).toBe(lease.token + 1);
    expect(await short.append({ lease, written: 0, events: [chunk(task.id, 'stale')] })).toBeUndefined();
    expect(
      await rival.append({ lease: claim.lease, written: 0, events: [chunk(task.id, 'new')] }),
    ).toBeDefined();
    expect(await short.renew([lease])).toEqual([]);
    expect(await rival.renew([claim.lease])).toEqual([
      { taskId: task.id, cancelRequested: false, inboxSeq: 1 },
    ]);
  });

  it('takes the writes of the newest lease alone where two of one task come at once', async () => {
    const short = new PostgresTaskStore(postgres, { holder: 'short', leaseMs: 0 });
    const task = newTask();
    const { id } = task;
    const old = (await short.create({ scope: alice, agentVersion, task, request: {} }))!;
    const { lease } = (await short.takeExpired(PLACES, 100)).find((claim) => claim.lease.taskId === id)!;
    const write = (of: Lease, written: number) =>
      short.append({ lease: of, written, events: [chunk(id, `${of.token}.${written}`)] });
    const all = await Promise.all([write(old, 0), write(lease, 0), write(old, 1), write(lease, 1)]);

    expect(all.map((committed) => committed?.events[0]?.seq)).toEqual([undefined, 2, undefined, 3]);
    const parts = (await store.read(id, alice))?.task.artifacts[0]?.parts;
    expect(parts?.map(({ content }) => content.value)).toEqual(['2.0', '2.1']);
  });

  it('counts a crash, but neither a hand-over nor a wait for a place', async () => {
    const taken = async (id: string) =>
      (await rival.takeExpired(PLACES, 100)).find(({ lease }) => lease.taskId === id)!;
    const short = new PostgresTaskStore(postgres, { holder: 'short', leaseMs: 0 });
    const lease = (await store.create({ scope: alice, agentVersion, task: newTask(), request: {} }))!;
    await store.release([lease], false);
    const first = await taken(lease.taskId);
    expect(first).toMatchObject({ attempt: 1, crashes: 0 });
    await store.release([first.lease], true);
    const second = await taken(lease.taskId);
    expect(second).toMatchObject({ attempt: 2, crashes: 0 });
    await short.renew([second.lease]);
    expect(await taken(lease.taskId)).toMatchObject({ attempt: 3, crashes: 1 });
  });

  it('gives many leases back while their turns write, in whatever order', async () => {
    const leases = await Promise.all(Array.from({ length: 300 }, () => started()));
    for (let written = 0; written < 6; written++) {
      const writes = leases.map((lease) =>
        store.append({ lease, written, events: [chunk(lease.taskId, `${written}`)] }),
      );
      await new Promise((resolve) => setImmediate(resolve));
      await rival.release(leases.toReversed(), true);
      expect(await Promise.all(writes)).not.toContain(undefined);
    }
    await store.renew(leases);
    const { rows } = await postgres.query<{ deadlocks: number }>({
      text: 'SELECT pg_stat_get_db_deadlocks(oid)::int AS deadlocks FROM pg_database WHERE datname = current_database()',
    });
    expect(rows[0]?.deadlocks).toBe(0);
  });

  it('hands an expired turn to one of two that ask at once', async () => {
    const short = new PostgresTaskStore(postgres, { holder: 'short', leaseMs: 0 });
    const ids = new Set<string>();
    for (let i = 0; i < 20; i++) {
      const task = newTask();
      ids.add(task.id);
      await short.create({ scope: alice, agentVersion, task, request: {} });
    }
    const taken = await Promise.all([store.takeExpired(PLACES, 100), rival.takeExpired(PLACES, 100)]);
    const mine = taken.flat().filter((claim) => ids.has(claim.lease.taskId));
    expect(mine).toHaveLength(20);
    expect(new Set(mine.map((claim) => claim.lease.taskId)).size).toBe(20);
  });

  it('starts one turn for many messages that reach a parked task at once', async () => {
    const lease = await started();
    const { taskId } = lease;
    const ask = [status(taskId, TaskState.INPUT_REQUIRED)];
    await store.append({ lease, written: 0, events: ask, state: TaskState.INPUT_REQUIRED, end: { read: 1 } });
    const deliveries = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        (i % 2 ? store : rival).deliver({
          taskId,
          event: message(taskId, `${i}`),
          request: {},
          scope: alice,
        }),
      ),
    );
    const leases = deliveries.flatMap((d) => (d && d !== 'duplicate' && d.lease ? [d.lease] : []));
    expect(leases).toHaveLength(1);
    expect((await store.read(taskId, alice))?.task.history).toHaveLength(21);
    const claim = (await store.reload(leases[0]!))!;
    expect([claim.trigger.seq, claim.inboxSeq]).toEqual([3, 22]);
  });

  it('does not end a turn while a message waits that it has not read', async () => {
    const lease = await started();
    const { taskId } = lease;
    await store.deliver({ taskId, event: message(taskId, 'wait for me'), request: {}, scope: alice });
    const ask = [status(taskId, TaskState.INPUT_REQUIRED)];
    const write = { lease, written: 0, events: ask, state: TaskState.INPUT_REQUIRED };
    expect((await store.append({ ...write, end: { read: 1 } }))?.ended).toBe(false);
    const again = { lease, written: 1, events: ask, state: TaskState.INPUT_REQUIRED };
    expect((await store.append({ ...again, end: { read: 2 } }))?.ended).toBe(true);
  });

  it('hands a turn to those who serve its major version, and tells which version it was', async () => {
    const short = new PostgresTaskStore(postgres, { holder: 'short', leaseMs: 0 });
    const task = newTask();
    await short.create({ scope: alice, agentVersion: '2.1.0', task, request: {} });
    const taken = async (major: string) =>
      (await rival.takeExpired([{ agent: 'echo', major }], 1_000)).find(
        ({ lease }) => lease.taskId === task.id,
      );

    expect(await taken('1')).toBeUndefined();
    expect((await taken('2'))?.agentVersion).toBe('2.1.0');
  });

  it('knows the version that a context began on, for its owner alone', async () => {
    const contextId = randomUUID();
    for (const version of ['1.0.0', '2.0.0']) {
      const task = newTask(contextId);
      await store.create({ scope: alice, agentVersion: version, task, request: {} });
    }
    expect(await store.contextVersion(contextId, alice)).toBe('1.0.0');
    expect(await store.contextVersion(contextId, bob)).toBeUndefined();
    expect(await store.contextVersion(randomUUID(), alice)).toBeUndefined();
  });

  it("keeps a caller's headers encrypted, for every replica, until the turn has ended", async () => {
    const cipher = new SecretCipher([`k=${Buffer.alloc(32, 7).toString('base64')}`]);
    const [one, other] = ['one', 'other'].map(
      (holder) => new PostgresTaskStore(postgres, { holder, leaseMs: 60_000, cipher }),
    ) as [PostgresTaskStore, PostgresTaskStore];
    const stored = async (id: string) =>
      (
        await postgres.query<{ request: string }>({
          text: 'SELECT request::text AS request FROM task_events WHERE task_id = $1 AND request IS NOT NULL ORDER BY seq',
          values: [id],
        })
      ).rows.map(({ request }) => request);
    const headers = { authorization: 'Bearer very-secret' };
    const task = newTask();
    const request = { metadata: { a: 1 }, headers };
    const lease = (await one.create({ scope: alice, agentVersion, task, request }))!;
    const event = message(task.id, 'more');
    await one.deliver({ taskId: task.id, event, request, scope: alice });

    expect((await other.reload(lease))?.request).toEqual(request);
    expect((await stored(task.id)).join()).toContain('headers');
    expect((await stored(task.id)).join()).not.toContain('very-secret');
    const ended = (read: number) =>
      one.append({ lease, written: 0, events: [], end: { read, forgetsHeaders: true } });
    expect((await ended(1))?.ended).toBe(false);
    expect((await other.reload(lease))?.request).toEqual(request);
    expect((await stored(task.id)).map((text) => text.includes('headers'))).toEqual([false, true]);
    expect((await ended(2))?.ended).toBe(true);
    expect(await stored(task.id)).toEqual(['{"metadata": {"a": 1}}', '{"metadata": {"a": 1}}']);
  });

  it("never stores a caller's headers without a key", async () => {
    const task = newTask();
    const request = { headers: { authorization: 'Bearer very-secret' } };
    const lease = (await store.create({ scope: alice, agentVersion, task, request }))!;
    expect((await store.reload(lease))?.request).toEqual({});
  });

  it('makes one task of a message that arrives many times at once', async () => {
    const identity = { key: randomUUID(), hash: randomUUID() };
    const tasks = Array.from({ length: 20 }, () => newTask());
    const leases = await Promise.all(
      tasks.map((task, i) =>
        (i % 2 ? store : rival).create({ scope: alice, agentVersion, task, request: {}, identity }),
      ),
    );
    const made = leases.filter((lease) => lease !== undefined);
    expect(made).toHaveLength(1);
    expect(await store.findMessage(identity.key)).toEqual({
      taskId: made[0]!.taskId,
      seq: 1,
      hash: identity.hash,
    });
    const read = await Promise.all(tasks.map((task) => store.read(task.id, alice)));
    expect(read.filter((task) => task !== undefined)).toHaveLength(1);
  });

  it('knows a follow-up message again', async () => {
    const { taskId } = await started();
    const identity = { key: randomUUID(), hash: randomUUID() };
    const delivery = { taskId, event: message(taskId, 'again'), request: {}, identity, scope: alice };
    expect(await store.deliver(delivery)).toMatchObject({ event: { seq: 2 } });
    expect(await rival.deliver(delivery)).toBe('duplicate');
    expect(await store.deliver({ ...delivery, identity: undefined, scope: bob })).toBeUndefined();
  });

  it('reads the same task from a snapshot and from the log alone', async () => {
    const lease = await started();
    const { taskId } = lease;
    const fold = new TaskFold((await store.read(taskId, alice))!.task);
    const events = Array.from({ length: 10 }, (_, i) => chunk(taskId, `${i}`, i > 0));
    for (const event of events.slice(0, 6)) fold.apply(event);
    await store.append({
      lease,
      written: 0,
      events: events.slice(0, 6),
      snapshot: { task: fold.task, seq: 7 },
    });
    await store.append({ lease, written: 6, events: events.slice(6) });
    for (const event of events.slice(6)) fold.apply(event);
    const whole = await store.read(taskId, alice);
    expect(whole).toMatchObject({ task: fold.task, version: 11, agentVersion });
    await postgres.query({
      text: `UPDATE tasks SET snapshot = NULL, snapshot_seq = 0 WHERE id = '${taskId}'`,
    });
    expect(await store.read(taskId, alice)).toEqual({ ...whole, size: expect.any(Number) });
  });

  it('leaves out a snapshot that a message came before', async () => {
    const lease = await started();
    const { taskId } = lease;
    const fold = new TaskFold((await store.read(taskId, alice))!.task);
    await store.deliver({ taskId, event: message(taskId, 'between'), request: {}, scope: alice });
    fold.apply(chunk(taskId, 'x', false));
    const events = [chunk(taskId, 'x', false)];
    await store.append({ lease, written: 0, events, snapshot: { task: fold.task, seq: 2 } });
    expect((await store.read(taskId, alice))?.task.history).toHaveLength(2);
  });

  it('hides a task that was answered directly', async () => {
    const lease = await started();
    const { taskId } = lease;
    const write = { lease, written: 0, events: [message(taskId, 'hi')], state: TaskState.COMPLETED };
    await store.append({ ...write, end, direct: true });
    expect(await store.read(taskId, alice)).toBeUndefined();
    expect(await store.find(taskId)).toBeUndefined();
  });
});
