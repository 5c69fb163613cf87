import type { JsonObject } from '@bufbuild/protobuf';
import { describe, expect } from 'vitest';
import { artifact, completed, inputRequired, textPart, working } from '../../src/agents/index.js';
import type { OperationName } from '../../src/protocol/index.js';
import { normal } from './answer.form.js';
import type { BindingClient } from './clients/index.js';
import { conformance } from './conformance.case.js';
import { ScriptStage } from './stage.js';
import { read, refused, says, send, start, type TaskJson } from './task.calls.js';
import { NO_LISTS } from './v03/modern.only.js';

const scripted = new ScriptStage({
  scripts: {
    done: () => [artifact({ parts: [textPart('secret')] }), completed()],
    ask: () => [inputRequired('?')],
    work: async function* ({ signal }) {
      yield working();
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
    },
  },
});
const { onEveryBinding } = conformance(scripted);

const ANN = { 'x-caller': 'acme/ann' };
const OTHERS: [string, { 'x-caller': string }][] = [
  ['another caller of the organisation', { 'x-caller': 'acme/bob' }],
  ['the same name of another organisation', { 'x-caller': 'umbrella/ann' }],
];

/** Every way to reach for a task by its id. */
const REACHES: [OperationName, (id: string) => JsonObject][] = [
  ['getTask', (id) => ({ id })],
  ['cancelTask', (id) => ({ id })],
  ['subscribeToTask', (id) => ({ id })],
  ['sendMessage', (taskId) => ({ message: says('hello', { taskId }) })],
  ['sendStreamingMessage', (taskId) => ({ message: says('hello', { taskId }) })],
];

const list = async (client: BindingClient, request: JsonObject, headers: { 'x-caller': string }) =>
  (await client.result('listTasks', request, headers)) as { tasks?: TaskJson[]; totalSize?: number };

describe.each(OTHERS)('A task is out of reach for %s', (_name, other) => {
  for (const [operation, request] of REACHES) {
    onEveryBinding(`with ${operation}, like one that never was (S002-161, B50)`, async (client) => {
      for (const text of ['done', 'ask', 'work']) {
        const { id } = await start(client, text, ANN);
        const before = await read(client, id, ANN);
        const foreign = await client.call(operation, request(id), other);
        const random = await client.call(operation, request(crypto.randomUUID()), other);
        refused('TASK_NOT_FOUND')(foreign);
        expect(normal(foreign.refusal)).toEqual(normal(random.refusal));
        const after = await read(client, id, ANN);
        expect(after.history).toEqual(before.history);
        expect(after.status.state).not.toBe('TASK_STATE_CANCELED');
        if (text === 'work') await client.result('cancelTask', { id }, ANN);
      }
    });
  }

  onEveryBinding(
    'in lists, counts and page tokens (S002-163, S002-105, B52)',
    async (client) => {
      const contextId = crypto.randomUUID();
      for (const text of ['done', 'ask']) await send(client, says(text, { contextId }), undefined, ANN);
      expect(await list(client, { contextId }, ANN)).toMatchObject({ totalSize: 2 });
      const theirs = await list(client, { contextId }, other);
      expect([theirs.tasks ?? [], theirs.totalSize ?? 0]).toEqual([[], 0]);
      const all = await list(client, {}, other);
      expect((all.tasks ?? []).filter((task) => task.contextId === contextId)).toEqual([]);
      const { nextPageToken } = await client.result('listTasks', { contextId, pageSize: 1 }, ANN);
      const request = { contextId, pageSize: 1, pageToken: nextPageToken! };
      refused('INVALID_PARAMS', 'pageToken')(await client.call('listTasks', request, other));
    },
    { modernOnly: NO_LISTS },
  );

  onEveryBinding(
    'by the same messageId and in the same context (B49, S004-03)',
    async (client) => {
      const message = says('done', { contextId: crypto.randomUUID() });
      const mine = await send(client, message, undefined, ANN);
      const theirs = await send(client, message, undefined, other);
      expect(theirs.id).not.toBe(mine.id);
      expect((await list(client, { contextId: mine.contextId }, ANN)).totalSize).toBe(1);
    },
    { modernOnly: NO_LISTS },
  );
});
