import { describe, expect, it } from 'vitest';
import { CARD, CONFIG, OldBindings, SAYS_PROTO, TIME } from '../../../test/support/old.bindings.js';
import { A2AError, TaskState, v03 } from '../../protocol/index.js';

const { operations, http } = new OldBindings();

const TASK_PROTO = {
  id: 'task-1',
  contextId: 'context-1',
  status: { state: 'TASK_STATE_COMPLETED', timestamp: TIME },
};

describe.each(['/rest/v1', '/agents/acme/rest/v1'])('0.3 over HTTP+JSON at %s (S002-173)', (base) => {
  it('sends a message', async () => {
    const { json, response } = await http('POST', `${base}/message:send`, { message: SAYS_PROTO });
    expect(response.headers.get('content-type')).toMatch(/^application\/json\b/);
    expect(json).toEqual({ task: { ...TASK_PROTO, history: [SAYS_PROTO] } });
    expect(operations.last.call).toMatchObject({ version: '0.3', binding: 'HTTP+JSON' });
  });

  it('streams frames of a2a.v1', async () => {
    const { events } = await http('POST', `${base}/message:stream`, { message: SAYS_PROTO });
    expect(events).toHaveLength(3);
    expect(events[1]).toEqual({
      artifactUpdate: {
        taskId: 'task-1',
        contextId: 'context-1',
        artifact: { artifactId: 'a', parts: [{ text: 'chunk 2 ' }] },
        append: true,
      },
    });
  });

  it.each(['GET', 'POST'])('follows a task by %s (B109)', async (method) => {
    const { events } = await http(method, `${base}/tasks/t:1:subscribe`);
    expect(events).toHaveLength(1);
    expect(operations.last).toMatchObject({ operation: 'subscribeToTask', request: { id: 't:1' } });
  });

  it('takes an encoded colon for part of the id', async () => {
    await http('GET', `${base}/tasks/t%3Asubscribe`);
    expect(operations.last).toMatchObject({ operation: 'getTask', request: { id: 't:subscribe' } });
  });

  it('reads, lists and cancels tasks', async () => {
    expect((await http('GET', `${base}/tasks/task-1?historyLength=2`)).json).toEqual(TASK_PROTO);
    expect(operations.last).toMatchObject({
      operation: 'getTask',
      request: { id: 'task-1', historyLength: 2 },
    });
    expect((await http('GET', `${base}/tasks/task-1?history_length=0`)).status).toBe(200);
    expect(operations.last.request).not.toHaveProperty('historyLength');

    const listed = await http('GET', `${base}/tasks?status=TASK_STATE_CANCELLED&pageSize=7`);
    expect(listed.json).toEqual({ tasks: [TASK_PROTO], nextPageToken: '', pageSize: 50, totalSize: 1 });
    expect(operations.last.request).toMatchObject({ status: TaskState.CANCELED, pageSize: 7 });

    for (const body of [undefined, {}]) {
      const { json } = await http('POST', `${base}/tasks/t:cancel`, body);
      expect(json).toMatchObject({ id: 't', status: { state: 'TASK_STATE_CANCELLED' } });
    }
  });

  it('has push configs by their resource names', async () => {
    const name = 'tasks/task-1/pushNotificationConfigs/c-1';
    const pushNotificationConfig = { id: 'c-1', url: CONFIG.url, token: 'secret' };
    const shown = {
      name,
      pushNotificationConfig: {
        ...pushNotificationConfig,
        authentication: { schemes: ['Bearer'], credentials: 'abc' },
      },
    };
    const made = await http('POST', `${base}/tasks/task-1/pushNotificationConfigs`, {
      name,
      pushNotificationConfig,
    });
    expect(made.json).toEqual({ name, pushNotificationConfig });
    expect(operations.last.request).toMatchObject({ taskId: 'task-1', id: 'c-1', url: CONFIG.url });
    expect((await http('GET', `${base}/${name}`)).json).toEqual(shown);
    expect((await http('GET', `${base}/tasks/task-1/pushNotificationConfigs`)).json).toEqual({
      configs: [shown],
    });
    expect((await http('DELETE', `${base}/${name}`)).json).toEqual({});
    expect(operations.last.request).toMatchObject({ taskId: 'task-1', id: 'c-1' });
  });

  it('takes a push config within the whole request, as the SDK for Python sends it', async () => {
    const config = { pushNotificationConfig: { url: CONFIG.url } };
    const body = { parent: 'tasks/other', configId: 'c-9', config };
    const { status } = await http('POST', `${base}/tasks/task-1/pushNotificationConfigs`, body);
    expect(status).toBe(200);
    expect(operations.last.request).toMatchObject({ taskId: 'task-1', id: 'c-9', url: CONFIG.url });
  });

  it('shows the card', async () => {
    expect((await http('GET', `${base}/card`)).json).toEqual(v03.cardForms(CARD)!.legacy);
  });

  it('answers errors as the SDKs read them, 409 for a task that cannot be cancelled (S001-09)', async () => {
    const { cancelTask } = operations;
    operations.cancelTask = async () => {
      throw new A2AError('taskNotCancelable');
    };
    const refused = await http('POST', `${base}/tasks/t:cancel`);
    operations.cancelTask = cancelTask;

    expect(refused).toMatchObject({
      status: 409,
      json: { code: -32002, message: 'The task has already ended' },
    });
    expect(await http('GET', `${base}/tasks/unknown`)).toMatchObject({ status: 404, json: { code: -32001 } });
    expect(await http('POST', `${base}/message:send`, {})).toMatchObject({
      status: 400,
      json: { code: -32602 },
    });
    expect(await http('PUT', `${base}/tasks/t`)).toMatchObject({ status: 405, json: { code: -32000 } });
  });

  it('speaks no other version there', async () => {
    const { status: code, json } = await http('GET', `${base}/tasks/t`, undefined, { 'a2a-version': '1.0' });
    expect({ code, json }).toMatchObject({ code: 400, json: { code: -32009 } });
    const modern = await http('GET', `${base.replace('/v1', '')}/tasks/t`);
    expect(modern).toMatchObject({
      status: 400,
      json: { error: { details: [{ reason: 'VERSION_NOT_SUPPORTED' }] } },
    });
  });
});
