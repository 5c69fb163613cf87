import type { JsonObject } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import type { BindingClient } from './clients/index.js';
import { conformance } from './conformance.case.js';
import { ServiceStage } from './stage.js';
import { read, refused, says, send, start, type TaskJson, talk } from './task.calls.js';
import { NO_EMPTY_LISTS, NO_LISTS, NO_ZERO_IN_LISTS } from './v03/modern.only.js';

const stage = new ServiceStage();
const { conforms, onEveryBinding } = conformance(stage, NO_LISTS);

interface Page {
  readonly tasks: TaskJson[];
  readonly nextPageToken: string;
  readonly pageSize: number;
  readonly totalSize: number;
}

const list = async (client: BindingClient, request: JsonObject) =>
  (await client.result('listTasks', request)) as unknown as Page;

/** A context with as many completed tasks, oldest first. */
async function contextOf(client: BindingClient, count: number) {
  const contextId = crypto.randomUUID();
  const tasks: TaskJson[] = [];
  for (let n = 1; n <= count; n++) tasks.push(await send(client, says(`task ${n}`, { contextId })));
  return { contextId, tasks };
}

const idsOf = ({ tasks }: Page) => (tasks ?? []).map(({ id }) => id);

describe('historyLength', () => {
  for (const [historyLength, expected] of [
    [undefined, ['ask one?', 'one?', 'ask two?']],
    [0, []],
    [1, ['ask two?']],
    [2, ['one?', 'ask two?']],
    [9999, ['ask one?', 'one?', 'ask two?']],
  ] as const) {
    onEveryBinding(
      `${historyLength} gives ${expected.length} messages on get and list (S002-100, B72, B74)`,
      async (client) => {
        const contextId = crypto.randomUUID();
        const { id } = await send(client, says('ask one?', { contextId }));
        await send(client, says('ask two?', { taskId: id }));
        const more: JsonObject = historyLength === undefined ? {} : { historyLength };
        const task = (await client.result('getTask', { id, ...more })) as TaskJson;
        const { tasks } = await list(client, { contextId, ...more });
        for (const { history } of [task, tasks[0]!]) {
          expect((history ?? []).map(({ parts }) => parts[0]?.text)).toEqual(expected);
        }
        expect(talk(await read(client, id))).toHaveLength(4);
        return [task, tasks];
      },
      historyLength === 0 ? { modernOnly: NO_ZERO_IN_LISTS } : {},
    );
  }
  conformance(stage).conforms({
    title: 'is never negative (S002-100, B72)',
    operation: 'getTask',
    given: (client) => send(client, 'hello'),
    request: ({ id }) => ({ id, historyLength: -1 }),
    expect: refused('INVALID_PARAMS', 'historyLength'),
  });
  it('0 leaves history out of JSON, and unset keeps it (S002-100)', async () => {
    for (const client of stage.clients().slice(0, 2)) {
      const { id } = await send(client, 'hello');
      expect(await client.result('getTask', { id, historyLength: 0 })).not.toHaveProperty('history');
      expect(await client.result('getTask', { id })).toHaveProperty('history');
    }
  });
});

describe('A list', () => {
  onEveryBinding('holds the tasks of a context, newest status first (S002-101, S002-103)', async (client) => {
    const { contextId, tasks } = await contextOf(client, 4);
    const page = await list(client, { contextId });
    expect(idsOf(page)).toEqual(tasks.map(({ id }) => id).reverse());
    expect(page.totalSize).toBe(4);
    return page;
  });

  onEveryBinding(
    'is filtered by status; unset and UNSPECIFIED filter nothing (S002-101, B70)',
    async (client) => {
      const contextId = crypto.randomUUID();
      const done = await send(client, says('hello', { contextId }));
      const asked = await send(client, says('ask', { contextId }));
      const of = async (status?: string) =>
        idsOf(await list(client, status ? { contextId, status } : { contextId }));
      expect(await of('TASK_STATE_COMPLETED')).toEqual([done.id]);
      expect(await of('TASK_STATE_INPUT_REQUIRED')).toEqual([asked.id]);
      expect(await of('TASK_STATE_FAILED')).toEqual([]);
      expect(await of('TASK_STATE_UNSPECIFIED')).toEqual([asked.id, done.id]);
      expect(await of()).toEqual([asked.id, done.id]);
    },
  );

  onEveryBinding('begins with the very millisecond that is asked for (S002-101)', async (client) => {
    const { contextId, tasks } = await contextOf(client, 2);
    const at = tasks[1]!.status.timestamp;
    const after = new Date(Date.parse(at) + 1).toISOString();
    const since = (statusTimestampAfter: string) => list(client, { contextId, statusTimestampAfter });
    expect(idsOf(await since(at))).toEqual([tasks[1]!.id]);
    expect(idsOf(await since(after))).toEqual([]);
  });

  conforms({
    title: 'that is empty still has all its fields (S002-102, B69)',
    operation: 'listTasks',
    request: () => ({ contextId: crypto.randomUUID() }),
    expect: ({ result }, _, client) => {
      if (client.binding === 'gRPC') expect(result).toMatchObject({ pageSize: 50 });
      else expect(result).toEqual({ tasks: [], nextPageToken: '', pageSize: 50, totalSize: 0 });
    },
  });
  conforms({
    title: 'has pages of 50 unless asked otherwise, and counts all (S002-102)',
    operation: 'listTasks',
    given: async (client) => {
      const contextId = crypto.randomUUID();
      await Promise.all(Array.from({ length: 51 }, () => start(client, says('hello', { contextId }))));
      return { contextId };
    },
    request: (given) => given,
    expect: ({ result }) => {
      expect(result?.tasks).toHaveLength(50);
      expect(result).toMatchObject({ pageSize: 50, totalSize: 51 });
      expect(result?.nextPageToken).not.toBe('');
    },
  });
  for (const pageSize of [0, -1, 101]) {
    conforms({
      title: `has no pages of ${pageSize} (S002-102, B69)`,
      operation: 'listTasks',
      request: { pageSize },
      expect: refused('INVALID_PARAMS', 'pageSize'),
    });
  }

  onEveryBinding(
    'loses and doubles no task while tasks change between its pages (S002-103)',
    async (client) => {
      const { contextId, tasks } = await contextOf(client, 7);
      const asked = await send(client, says('ask', { contextId }));
      const seen: string[] = [];
      let pageToken = '';
      do {
        const page = await list(client, { contextId, pageSize: 3, ...(pageToken ? { pageToken } : {}) });
        seen.push(...idsOf(page));
        expect(page.totalSize).toBeGreaterThanOrEqual(8);
        pageToken = page.nextPageToken ?? '';
        if (seen.length === 3) await send(client, says('hello', { taskId: asked.id }));
        await send(client, says('one more', { contextId }));
      } while (pageToken);
      expect(seen).toEqual([asked.id, ...tasks.map(({ id }) => id).reverse()]);
    },
  );

  onEveryBinding(
    'has artifacts only where asked, and then always (S002-104)',
    async (client) => {
      const contextId = crypto.randomUUID();
      await send(client, says('hello', { contextId }));
      await send(client, says('ask', { contextId }));
      for (const request of [{ contextId }, { contextId, includeArtifacts: false }] as JsonObject[]) {
        for (const task of (await list(client, request)).tasks) expect(task.artifacts).toBeUndefined();
      }
      const { tasks } = await list(client, { contextId, includeArtifacts: true });
      expect(tasks.map(({ artifacts }) => artifacts?.length ?? 0)).toEqual([0, 1]);
      if (client.binding !== 'gRPC') expect(tasks[0]?.artifacts).toEqual([]);
    },
    { modernOnly: NO_EMPTY_LISTS },
  );

  onEveryBinding(
    'gives out tokens that fit no other list and cannot be changed (S002-105, B69)',
    async (client) => {
      const { contextId } = await contextOf(client, 2);
      const { nextPageToken } = await list(client, { contextId, pageSize: 1 });
      const changed = (nextPageToken[0] === 'A' ? 'B' : 'A') + nextPageToken.slice(1);
      for (const pageToken of [changed, `${nextPageToken}x`, 'garbage', '%00', `${nextPageToken} `]) {
        refused('INVALID_PARAMS', 'pageToken')(await client.call('listTasks', { contextId, pageToken }));
      }
      const elsewhere = { contextId: 'other', pageToken: nextPageToken };
      refused('INVALID_PARAMS', 'pageToken')(await client.call('listTasks', elsewhere));
      expect(idsOf(await list(client, { contextId, pageToken: nextPageToken }))).toHaveLength(1);
    },
  );

  it.each([
    [{ status: 'RUNNING' }, 'status'],
    [{ status: 99 }, 'status'],
    [{ statusTimestampAfter: 'yesterday' }, 'statusTimestampAfter'],
    [{ pageSize: 'many' }, 'pageSize'],
    [{ includeArtifacts: 'maybe' }, 'includeArtifacts'],
    [{ historyLength: -5 }, 'historyLength'],
  ])('of %j is refused (S002-106, B69)', async (request, field) => {
    for (const client of stage.clients().slice(0, 2)) {
      refused('INVALID_PARAMS', field)(await client.call('listTasks', request));
    }
  });

  onEveryBinding('holds plain tasks, the same as GetTask gives (B73)', async (client) => {
    const { contextId, tasks } = await contextOf(client, 1);
    const [listed] = (await list(client, { contextId, includeArtifacts: true })).tasks;
    expect(listed).toEqual(await read(client, tasks[0]!.id));
    return listed;
  });
});
