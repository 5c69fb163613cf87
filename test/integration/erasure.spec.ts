import { createHash } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import { Logger } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { artifact, completed, message, textPart } from '../../src/agents/index.js';
import { SubscribeToTaskRequestSchema, type Task } from '../../src/protocol/index.js';
import { type ErasureReceipt, ErasureStore } from '../../src/tasks/index.js';
import { PostgresErasureStore } from '../../src/tasks/postgres-erasure.store.js';
import { call, collect, House, type Replica, send, until } from '../support/house.js';

let house: House;
let replica: Replica;
let store: ErasureStore;
let aborted: unknown;
const BOB = { organisation: '', subject: 'bob', scopes: new Set<string>() };

beforeAll(async () => {
  Logger.overrideLogger(false);
  house = await House.open();
  replica = await house
    .replica({
      settings: { directReplies: true },
      script: async function* ({ message: { parts }, signal }) {
        const text = parts[0]!.content.value;
        if (text === 'direct') return yield message('hi');
        if (text === 'mute') await new Promise((resolve) => signal.addEventListener('abort', resolve));
        yield artifact({ parts: [textPart('alice lives in Paris')] });
        if (text === 'run') await new Promise((resolve) => signal.addEventListener('abort', resolve));
        aborted = signal.reason;
        yield completed();
      },
    })
    .live();
  store = new PostgresErasureStore(replica.postgres);
});
afterAll(() => house.close());

const sent = async (text: string, by = call()) =>
  (await replica.service.sendMessage(send(text, { now: text === 'run' }), by)).payload.value as Task;

async function everything(): Promise<string> {
  const tables = ['tasks', 'task_events', 'push_configs', 'erasures'];
  const rows = await Promise.all(
    tables.map((t) => replica.postgres.query({ text: `SELECT x::text FROM ${t} x` })),
  );
  return JSON.stringify(rows.map((result) => result.rows));
}

describe('the erasure of a caller', () => {
  let receipt: ErasureReceipt;
  let others: Task;

  it('takes everything of it and nothing of others, running turns and their streams included (S002-168)', async () => {
    others = await sent('done', call({ principal: BOB }));
    const done = await sent('done');
    await replica.postgres.query({
      text: `INSERT INTO push_configs (task_id, id, url, host, version, cursor) VALUES ($1, 'p', 'u', 'h', '1.0', 9)`,
      values: [done.id],
    });
    await sent('direct');
    const running = await sent('run');
    const request = create(SubscribeToTaskRequestSchema, { id: running.id });
    const stream = collect(
      await replica.service.subscribeToTask(request, call({ operation: 'subscribeToTask' })),
    );

    receipt = await store.erase({ organisation: '', subject: 'alice' }, 'ann');

    expect(receipt).toMatchObject({ by: 'ann', tasks: 3, pushConfigs: 1 });
    await replica.keeper.heartbeat();
    await until(() => aborted === 'lease-lost');
    await stream.catch(() => undefined);
    const left = await replica.postgres.query<{ owner: string }>({ text: 'SELECT owner FROM tasks' });
    expect(left.rows).toEqual([{ owner: 'bob' }]);
    const events = await replica.postgres.query<{ id: string }>({
      text: 'SELECT DISTINCT task_id AS id FROM task_events',
    });
    expect(events.rows).toEqual([{ id: others.id }]);
  });

  it('leaves a receipt that names nobody, but can be matched by who knows the name', async () => {
    expect(await everything()).not.toContain('alice"');
    const digest = createHash('sha256').update('["","alice"]').digest('hex');
    expect(receipt.subjectDigest).toBe(digest);
    expect(await store.receipts()).toEqual([receipt]);
    expect(receipt.events).toBeGreaterThan(6);
  });

  it('lets go of a call that still waits for the first word of its task', async () => {
    const principal = { organisation: '', subject: 'carol', scopes: new Set<string>() };
    const waiting = replica.service.sendMessage(send('mute'), call({ principal }));
    const carol = { text: `SELECT FROM tasks WHERE owner = 'carol'` };
    await until(async () => (await replica.postgres.query(carol)).rowCount === 1);

    await store.erase({ organisation: '', subject: 'carol' }, 'ann');
    expect((await waiting).payload.case).toBe('task');
  });

  it('of one who has nothing is a receipt of nothing', async () => {
    expect(await store.erase({ organisation: 'x', subject: 'alice' }, 'ann')).toMatchObject({
      tasks: 0,
      events: 0,
    });
  });
});
