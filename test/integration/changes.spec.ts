import { Module } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ChangesController } from '../../src/a2a/changes.controller.js';
import { Dispatcher } from '../../src/a2a/dispatcher.js';
import { Faults } from '../../src/a2a/faults.js';
import {
  AgentRegistry,
  artifact,
  completed,
  inputRequired,
  message,
  textPart,
  working,
} from '../../src/agents/index.js';
import type { Task } from '../../src/protocol/index.js';
import { TaskStore } from '../../src/tasks/index.js';
import { testConfig } from '../support/config.js';
import { call, House, type Replica, send, until } from '../support/house.js';
import { listen } from '../support/http.js';

let house: House;
let replica: Replica;
let app: NestFastifyApplication;
let subject = 'alice';
const settings = { directReplies: false };

beforeAll(async () => {
  house = await House.open();
  replica = house.replica({
    script: async function* ({ message: { parts } }) {
      yield working();
      yield parts[0]!.content.value === 'ask' ? inputRequired('what?') : completed();
    },
  });
  const admit = async (arrival: { caller: unknown }) => ({
    ...caller(),
    caller: arrival.caller,
    reply: new Map(),
  });
  @Module({
    controllers: [ChangesController],
    providers: [
      Faults,
      { provide: Dispatcher, useValue: { admit } },
      { provide: TaskStore, useValue: replica.store },
      { provide: AgentRegistry, useValue: { versions: () => [{ settings }] } },
    ],
  })
  class ChangesUnderTest {}
  app = await listen(ChangesUnderTest, testConfig());
});
afterAll(async () => {
  await app.close();
  await house.close();
});

const caller = () => call({ principal: { organisation: '', subject, scopes: new Set() } });

interface Page {
  readonly tasks: { id: string; status: { state: string }; history?: unknown[] }[];
  readonly cursor: string;
}

async function changes(query: string): Promise<Page> {
  const response = await fetch(`${await app.getUrl()}/agents/echo/changes?${query}`);
  expect(response.status).toBe(200);
  return (await response.json()) as Page;
}

const run = async (text: string) =>
  ((await replica.service.sendMessage(send(text), caller())).payload.value as Task).id;

/** Everything after a cursor: other tests of this run have transactions open in the same cluster. */
async function settled(cursor: string, count: number): Promise<Page> {
  const tasks: Page['tasks'] = [];
  let at = cursor;
  await until(async () => {
    const page = await changes(`after=${at}`);
    tasks.push(...page.tasks);
    at = page.cursor;
    return tasks.length >= count;
  });
  return { tasks, cursor: at };
}

describe('the change feed', () => {
  it("brings the caller's tasks in the order of their changes, and goes on where it stopped (S004-11, S004-12)", async () => {
    subject = 'carol';
    const ids = [await run('one'), await run('ask'), await run('three')];
    const { tasks, cursor } = await settled('', 3);
    expect(tasks.map(({ id }) => id)).toEqual(ids);
    expect(tasks.map(({ status }) => status.state)).toEqual([
      'TASK_STATE_COMPLETED',
      'TASK_STATE_INPUT_REQUIRED',
      'TASK_STATE_COMPLETED',
    ]);
    expect(tasks[0]!.history).toBeUndefined();
    expect(await changes(`after=${cursor}`)).toEqual({ tasks: [], cursor });
    await replica.service.sendMessage(send('done', { taskId: ids[1] }), caller());
    expect((await settled(cursor, 1)).tasks).toMatchObject([
      { id: ids[1], status: { state: 'TASK_STATE_COMPLETED' } },
    ]);
  });

  it('can be read in pages', async () => {
    subject = 'dave';
    const ids = [await run('one'), await run('two'), await run('three')];
    await settled('', 3);
    const first = await changes('pageSize=2');
    const second = await changes(`pageSize=2&after=${first.cursor}`);
    expect([...first.tasks, ...second.tasks].map(({ id }) => id)).toEqual(ids);
  });

  it('shows nobody the tasks of another caller', async () => {
    subject = 'erin';
    await run('hers');
    await settled('', 1);
    subject = 'mallory';
    expect(await changes('')).toEqual({ tasks: [], cursor: '' });
  });

  it('waits for a change', async () => {
    subject = 'frank';
    const waiting = changes('wait=30');
    const id = await run('now');
    expect((await waiting).tasks.map((task) => task.id)).toEqual([id]);
  });

  it('leaves no gap for a change that is committed after a later one', async () => {
    subject = 'grace';
    const [slow, fast] = [await run('ask'), await run('ask')];
    const { cursor } = await settled('', 2);
    const late = await replica.postgres.pool.connect();
    await late.query('BEGIN');
    await late.query(`UPDATE tasks SET changed = pg_current_xact_id()::text::bigint WHERE id = $1`, [slow]);
    await replica.service.sendMessage(send('done', { taskId: fast }), caller());
    expect((await changes(`after=${cursor}`)).tasks).toEqual([]);
    await late.query('COMMIT');
    late.release();
    expect((await settled(cursor, 2)).tasks.map(({ id }) => id)).toEqual([slow, fast]);
  });

  it('shows a task of an agent that may answer with a Message alone once it is one, and never a Message', async () => {
    subject = 'heidi';
    settings.directReplies = true;
    const goOn: (() => void)[] = [];
    const other = house.replica({
      settings,
      script: async function* ({ message: { parts } }) {
        await new Promise<void>((resolve) => goOn.push(resolve));
        if (parts[0]!.content.value === 'hello') return yield message('hi');
        yield artifact({ parts: [textPart('one')] });
        yield completed();
      },
    });
    const [reply, task] = ['hello', 'work'].map((text) => other.service.sendMessage(send(text), caller()));
    await until(() => goOn.length === 2);
    const ended = await run('now');
    const before = await settled('', 1);
    expect(before.tasks.map(({ id }) => id)).toEqual([ended]);
    for (const go of goOn) go();
    expect((await reply!).payload.case).toBe('message');
    const id = ((await task!).payload.value as Task).id;
    const after = await settled(before.cursor, 1);
    expect(new Set(after.tasks.map((changed) => changed.id))).toEqual(new Set([id]));
    expect(after.tasks.at(-1)).toMatchObject({ id, status: { state: 'TASK_STATE_COMPLETED' } });
    settings.directReplies = false;
  });

  it('refuses a cursor and numbers that are none', async () => {
    for (const query of ['after=x', 'after=1.2', 'wait=61', 'wait=x', 'pageSize=0', 'pageSize=101']) {
      const response = await fetch(`${await app.getUrl()}/agents/echo/changes?${query}`);
      expect([query, response.status]).toEqual([query, 400]);
    }
  });
});
