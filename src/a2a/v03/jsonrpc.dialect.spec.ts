import { describe, expect, it } from 'vitest';
import { CARD, CONFIG, EXTENSION, OldBindings, SAYS, TIME } from '../../../test/support/old.bindings.js';
import { A2AError, v03 } from '../../protocol/index.js';

const { operations, http, rpc } = new OldBindings();

describe('0.3 over JSON-RPC', () => {
  it('is what is spoken where no version is named (S002-171, B104)', async () => {
    const sent = await rpc('message/send', { message: SAYS, configuration: { historyLength: 3 } });
    expect(sent.json).toEqual({
      jsonrpc: '2.0',
      id: 'x',
      result: {
        kind: 'task',
        id: 'task-1',
        contextId: 'context-1',
        status: { state: 'completed', timestamp: TIME },
        history: [SAYS],
      },
    });
    expect(sent.response.headers.get('a2a-version')).toBe('0.3');
    expect(operations.last).toMatchObject({
      operation: 'sendMessage',
      request: {
        message: { messageId: 'm-1' },
        configuration: { historyLength: 3, returnImmediately: false },
      },
      call: { version: '0.3', binding: 'JSONRPC' },
    });
  });

  it.each(['', '0.3', '0.3.0', ' 0.3 '])('is also "%s" in the header or query', async (version) => {
    const body = { jsonrpc: '2.0', id: 1, method: 'tasks/get', params: { id: 't' } };
    const query = `/jsonrpc?A2A-Version=${encodeURIComponent(version)}`;
    expect((await rpc('tasks/get', { id: 't' }, { 'a2a-version': version })).json.result.kind).toBe('task');
    expect((await http('POST', query, body)).json.result.kind).toBe('task');
  });

  it.each([
    ['tasks/get', { id: 't', historyLength: 2 }, 'getTask', { id: 't', historyLength: 2 }],
    ['tasks/cancel', { id: 't', metadata: { why: 1 } }, 'cancelTask', { id: 't', metadata: { why: 1 } }],
    [
      'tasks/pushNotificationConfig/set',
      { taskId: 't', pushNotificationConfig: { id: 'c', url: 'https://h.example', token: 's' } },
      'createTaskPushNotificationConfig',
      { taskId: 't', id: 'c', url: 'https://h.example', token: 's' },
    ],
    [
      'tasks/pushNotificationConfig/delete',
      { id: 't', pushNotificationConfigId: 'c' },
      'deleteTaskPushNotificationConfig',
      { taskId: 't', id: 'c' },
    ],
  ] as const)('%s is %s (S002-171)', async (method, params, operation, request) => {
    expect((await rpc(method, params)).json).toHaveProperty('result');
    expect(operations.last).toMatchObject({ operation, request });
  });

  it('nests push configs, and has a first one for who names none', async () => {
    const pushNotificationConfig = {
      ...{ id: 'c-1', url: CONFIG.url, token: 'secret' },
      authentication: { schemes: ['Bearer'], credentials: 'abc' },
    };
    const expected = { taskId: 'task-1', pushNotificationConfig };
    const get = 'tasks/pushNotificationConfig/get';
    const list = await rpc('tasks/pushNotificationConfig/list', { id: 'task-1' });

    expect(list.json.result).toEqual([expected]);
    expect((await rpc(get, { id: 'task-1', pushNotificationConfigId: 'c-1' })).json.result).toEqual(expected);
    expect((await rpc(get, { id: 'task-1' })).json.result).toEqual(expected);
    expect(
      (await rpc('tasks/pushNotificationConfig/delete', { id: 'task-1', pushNotificationConfigId: 'c-1' }))
        .json,
    ).toEqual({ jsonrpc: '2.0', id: 'x', result: null });
  });

  it.each(['message/stream', 'tasks/resubscribe'])(
    '%s streams results with the id of the call',
    async (method) => {
      const params = method === 'message/stream' ? { message: SAYS } : { id: 'task-1' };
      const { response, events } = await rpc(method, params);
      expect(response.headers.get('content-type')).toBe('text/event-stream');
      expect(events[0]).toEqual({
        jsonrpc: '2.0',
        id: 'x',
        result: {
          kind: 'artifact-update',
          taskId: 'task-1',
          contextId: 'context-1',
          artifact: { artifactId: 'a', parts: [{ kind: 'text', text: 'chunk 1 ' }] },
          append: false,
          lastChunk: false,
        },
      });
    },
  );

  it('says in the stream why there is none (B03)', async () => {
    const subscribe = operations.subscribeToTask;
    operations.subscribeToTask = async () => {
      throw new A2AError('taskNotFound');
    };
    const { response, events } = await rpc('tasks/resubscribe', { id: 'none' });
    operations.subscribeToTask = subscribe;

    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    expect(events).toMatchObject([{ jsonrpc: '2.0', id: 'x', error: { code: -32001 } }]);
  });

  it('has no method of 1.0, and says which header was forgotten', async () => {
    const { json } = await rpc('SendMessage', { message: SAYS });
    expect(json.error.code).toBe(-32009);
    expect(json.error.message).toContain('A2A-Version: 1.0');
    expect((await rpc('tasks/list')).json.error.code).toBe(-32601);
    expect((await rpc('toString')).json.error.code).toBe(-32601);
    expect((await rpc('message/send', { message: SAYS }, { 'a2a-version': '1.0' })).json.error.code).toBe(
      -32601,
    );
    expect((await rpc('message/send', { message: SAYS }, { 'a2a-version': '2.0' })).json.error.code).toBe(
      -32009,
    );
  });

  it('refuses what is no message with its field (B114)', async () => {
    const { json } = await rpc('message/send', { message: { ...SAYS, parts: [{ kind: 'file', file: {} }] } });
    expect(json.error).toMatchObject({
      code: -32602,
      message: expect.stringContaining('message.parts[0].file'),
    });
  });

  it('gives the extended card in its own form', async () => {
    const { json } = await rpc('agent/getAuthenticatedExtendedCard');
    expect(json.result).toEqual(v03.cardForms(CARD)!.legacy);
  });

  it('takes and names extensions in its own header (S002-176, B105)', async () => {
    for (const name of ['X-A2A-Extensions', 'A2A-Extensions']) {
      const { response } = await rpc(
        'tasks/get',
        { id: 't' },
        { [name]: `https://other.example, ${EXTENSION}` },
      );
      expect(operations.last.call.extensions).toEqual([EXTENSION]);
      expect(response.headers.get('x-a2a-extensions')).toBe(EXTENSION);
      expect(response.headers.get('a2a-extensions')).toBeNull();
    }
  });
});
