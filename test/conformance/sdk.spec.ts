import { type Part, SendMessageRequest, StreamResponse, Task, TaskState } from '@a2a-js/sdk';
import { type Client, ClientFactory, ClientFactoryOptions } from '@a2a-js/sdk/client';
import type { JsonObject } from '@bufbuild/protobuf';
import { beforeAll, describe, expect, it } from 'vitest';
import { ServiceStage } from './stage.js';
import { kinds, says, type TaskJson, textOf } from './task.calls.js';

const stage = new ServiceStage();

/** The public client of the A2A project, which shares nothing with this repository. */
describe.each(['JSONRPC', 'HTTP+JSON'])('The public SDK over %s', (binding) => {
  let client: Client;
  beforeAll(async () => {
    const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
      preferredTransports: [binding],
    });
    client = await new ClientFactory(options).createFromUrl(`${stage.httpUrl}/agents/echo/`);
  });
  const request = (text: string, more: object = {}) =>
    SendMessageRequest.fromJSON({ message: says(text), ...more });
  const json = (task: Task) => Task.toJSON(task) as TaskJson;

  it('sends, reads, lists and gets back every kind of part (S002-001, S002-059)', async () => {
    const parts: JsonObject[] = [
      { text: 'ä' },
      { raw: 'AP8=' },
      { url: 'https://x.example/' },
      { data: { a: [null, 1] } },
    ];
    const message = says('', { parts, contextId: crypto.randomUUID() });
    const sent = json((await client.sendMessage(SendMessageRequest.fromJSON({ message }))) as Task);
    expect(sent.status.state).toBe('TASK_STATE_COMPLETED');
    const back = (await client.getTask({ tenant: '', id: sent.id, historyLength: undefined })) as Task;
    expect(back.artifacts[0]?.parts.map((part: Part) => part.content?.$case)).toEqual([
      'text',
      'raw',
      'url',
      'data',
    ]);
    expect(json(back)).toEqual(sent);
    const { tasks, totalSize } = await client.listTasks({
      tenant: '',
      contextId: sent.contextId,
      status: TaskState.TASK_STATE_UNSPECIFIED,
      pageToken: '',
      pageSize: undefined,
      historyLength: undefined,
      includeArtifacts: undefined,
      statusTimestampAfter: undefined,
    });
    expect([tasks.map(({ id }) => id), totalSize]).toEqual([[sent.id], 1]);
  });

  it('reads a stream to its end (S002-013, S002-018, S002-019)', async () => {
    const frames = [];
    for await (const event of client.sendMessageStream(request('chunks 5')))
      frames.push(StreamResponse.toJSON(event));
    expect(kinds(frames as never)).toEqual([
      'task',
      'WORKING',
      ...Array(5).fill('artifactUpdate'),
      'COMPLETED',
    ]);
    const { task } = frames[0] as { task: TaskJson };
    const stored = json(await client.getTask({ tenant: '', id: task.id, historyLength: undefined }));
    expect(textOf(stored.artifacts[0])).toBe('chunk 1\nchunk 2\nchunk 3\nchunk 4\nchunk 5\n');
  });

  it('answers a question and gets a direct Message (S002-003, S002-094)', async () => {
    const asked = json((await client.sendMessage(request('ask what?'))) as Task);
    const answer = SendMessageRequest.fromJSON({ message: says('this', { taskId: asked.id }) });
    expect(json((await client.sendMessage(answer)) as Task).status.state).toBe('TASK_STATE_COMPLETED');
    expect(await client.sendMessage(request('message hi'))).toMatchObject({
      parts: [{ content: { value: 'hi' } }],
    });
  });

  it('subscribes to a task and cancels it (S002-108, S002-117)', async () => {
    const start = request('sleep 60000', { configuration: { returnImmediately: true } });
    const { id } = (await client.sendMessage(start)) as Task;
    const frames = [];
    for await (const event of client.resubscribeTask({ tenant: '', id })) {
      frames.push(StreamResponse.toJSON(event));
      if (frames.length === 1) void client.cancelTask({ tenant: '', id, metadata: undefined });
    }
    expect(kinds(frames as never).at(0)).toBe('task');
    expect(kinds(frames as never).at(-1)).toBe('CANCELED');
  });

  it('knows our errors by their class (S002-052, S002-110, B106)', async () => {
    const unknown = { tenant: '', id: 'unknown', historyLength: undefined };
    await expect(client.getTask(unknown)).rejects.toMatchObject({ name: 'TaskNotFoundError' });
    const { id } = (await client.sendMessage(request('hello'))) as Task;
    const cancel = client.cancelTask({ tenant: '', id, metadata: undefined });
    await expect(cancel).rejects.toMatchObject({ name: 'TaskNotCancelableError' });
  });
});
