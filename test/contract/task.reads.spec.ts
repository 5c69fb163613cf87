import { randomUUID } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Postgres } from '../../src/database/index.js';
import { MessageSchema, StreamResponseSchema, TaskSchema, TaskState } from '../../src/protocol/index.js';
import type { ChangePosition, Lease, TaskQuery, TaskScope, TaskStore } from '../../src/tasks/index.js';
import { PostgresTaskStore } from '../../src/tasks/postgres-task.store.js';
import { testConfig } from '../support/config.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';

const alice: TaskScope = { organisation: 'acme', owner: 'alice', agent: 'echo' };
const bob: TaskScope = { ...alice, owner: 'bob' };
const agentVersion = '1.2.0';

let database: TestDatabase;
let postgres: Postgres;
let store: TaskStore;
beforeAll(async () => {
  database = await createDatabase();
  postgres = new Postgres(testConfig({ PARLEY_DATABASE_URL: database.url }));
  store = new PostgresTaskStore(postgres, { holder: 'one', leaseMs: 60_000 });
});
afterAll(async () => {
  await postgres.onApplicationShutdown();
  await database.drop();
});

const text = (value: string) => ({ content: { case: 'text' as const, value } });

function newTask(contextId: string = randomUUID(), at = Date.now()) {
  const id = randomUUID();
  const message = { messageId: randomUUID(), taskId: id, contextId, role: 1, parts: [text('hello')] };
  const status = { state: TaskState.SUBMITTED, timestamp: timestampFromMs(at) };
  return create(TaskSchema, { id, contextId, status, history: [message] });
}

async function started(scope: TaskScope, contextId?: string, at?: number): Promise<Lease> {
  const task = newTask(contextId, at);
  return (await store.create({ scope, agentVersion, task, request: {} }))!;
}

function chunk(taskId: string, value: string) {
  const artifact = { artifactId: 'a', parts: [text(value)] };
  return create(StreamResponseSchema, {
    payload: { case: 'artifactUpdate', value: { taskId, artifact, append: true } },
  });
}

describe('a task store that reads several', () => {
  it('answers each of many reads at the same time with its own task, and none with that of another scope', async () => {
    const scopes = [alice, bob, { ...alice, agent: 'other' }, { ...alice, organisation: '' }];
    const owned = await Promise.all(
      Array.from({ length: 40 }, async (_, n) => {
        const scope = scopes[n % scopes.length]!;
        return { scope, id: (await started(scope)).taskId };
      }),
    );
    const reads = owned.flatMap(({ id, scope: own }) => scopes.map((scope) => ({ id, own, scope })));
    const found = await Promise.all(reads.map(({ id, scope }) => store.read(id, scope)));
    expect(found.map((stored) => stored?.task.id)).toEqual(
      reads.map(({ id, own, scope }) => (own === scope ? id : undefined)),
    );
  });

  it('lists newest status first, page by page, each task once', async () => {
    const scope = { ...alice, owner: randomUUID() };
    const at = Date.now();
    for (let i = 0; i < 7; i++) await started(scope, 'c', at + (i >> 1));
    const seen: string[] = [];
    let after: { statusAt: number; id: string } | undefined;
    for (;;) {
      const page = await store.list({ scope, limit: 3, after });
      expect(page.total).toBe(7);
      seen.push(...page.tasks.map(({ task }) => task.id));
      const last = page.tasks.at(-1)!;
      after = { statusAt: last.statusAt, id: last.task.id };
      if (!page.more) break;
    }
    expect(new Set(seen).size).toBe(7);
    expect((await store.list({ scope, limit: 10, statusAfter: at + 3 })).tasks).toHaveLength(1);
    expect((await store.list({ scope, limit: 10, statusAfter: at + 2 })).tasks).toHaveLength(3);
    expect((await store.list({ scope, limit: 10, contextId: 'other' })).total).toBe(0);
    expect((await store.list({ scope, limit: 10, state: TaskState.SUBMITTED })).total).toBe(7);
    expect((await store.list({ scope, limit: 10, state: TaskState.FAILED })).tasks).toEqual([]);
  });

  it('gives fewer events at once where they are large, at least one', async () => {
    const lease = await started(alice);
    const { taskId } = lease;
    const events = [1, 5, 5, 1].map((size, n) => chunk(taskId, `${n}`.repeat(size << 20)));
    await store.append({ lease, written: 0, events });
    const seqs = async (after: number) => (await store.events(taskId, after, 100)).map(({ seq }) => seq);
    expect(await seqs(0)).toEqual([1, 2, 3, 4]);
    expect(await seqs(4)).toEqual([5]);
  });

  it('gives a task whole as it is stored up to an event: its snapshot, or what its log begins with', async () => {
    const lease = await started(alice);
    const { taskId } = lease;
    const whole = { ...newTask(), id: taskId, metadata: { whole: true } };
    const events = ['one', 'two', 'three'].map((value) => chunk(taskId, value));
    await store.append({ lease, written: 0, events: events.slice(0, 2), snapshot: { task: whole, seq: 3 } });
    await store.append({ lease, written: 2, events: events.slice(2) });
    const found = await Promise.all([1, 2, 3, 4].map((last) => store.snapshot(taskId, last)));
    expect(found.map((stored) => [stored!.version, stored!.task.metadata])).toEqual([
      [1, undefined],
      [1, undefined],
      [3, { whole: true }],
      [3, { whole: true }],
    ]);
    expect(found[0]!.task.status!.state).toBe(TaskState.SUBMITTED);
    expect(await store.snapshot(randomUUID(), 4)).toBeUndefined();
  });

  it('gives fewer tasks at once where they are large, at least one and none twice', async () => {
    const scope = { ...alice, agent: 'large' };
    const contextId = randomUUID();
    const ids: string[] = [];
    for (const size of [3, 6, 3, 3]) {
      const task = newTask(contextId, Date.now() + ids.length);
      task.history = [create(MessageSchema, { messageId: 'm', parts: [text('x'.repeat(size << 20))] })];
      await store.create({ scope, agentVersion, task, request: {} });
      ids.push(task.id);
    }
    const newest = ids.toReversed();
    const pages: string[][] = [];
    for (let after: TaskQuery['after'], more = true; more; ) {
      const page = await store.list({ scope, limit: 10, after });
      expect(page.total).toBe(4);
      const last = page.tasks.at(-1)!;
      pages.push(page.tasks.map(({ task }) => task.id));
      after = { statusAt: last.statusAt, id: last.task.id };
      more = page.more;
    }
    expect(pages).toEqual([newest.slice(0, 2), [newest[2]], [newest[3]]]);
    expect((await store.context(contextId, scope, 10)).map(({ id }) => id)).toEqual(newest.slice(0, 2));
    expect((await store.readMany(ids, scope)).map(({ id }) => id)).toEqual(newest.slice(0, 2));
    const changed = async (after?: ChangePosition) =>
      (await store.changes({ scope, limit: 10, after })).tasks.map(({ task }) => task.id);
    await expect.poll(() => changed()).toEqual([ids[0]]);
    const { position } = await store.changes({ scope, limit: 10 });
    await expect.poll(() => changed(position)).toEqual([ids[1]]);
  });
});
