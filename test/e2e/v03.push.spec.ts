import type { PushNotificationConfig, Task } from 'a2a-sdk-v03';
import {
  type Client,
  ClientFactory,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from 'a2a-sdk-v03/client';
import { GrpcTransportFactory } from 'a2a-sdk-v03/client/grpc';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BINDINGS } from '../support/any.binding.js';
import { type RunningService, startService } from '../support/service.js';
import { WebhookReceiver } from '../support/webhook.receiver.js';

let service: RunningService;
let hook: WebhookReceiver;
beforeAll(async () => {
  hook = await WebhookReceiver.listen();
  service = await startService({
    env: {
      PARLEY_PUSH_SECRETS: `whsec_${Buffer.alloc(32, 1).toString('base64')}`,
      PARLEY_PUSH_KEYS: `test=${Buffer.alloc(32, 3).toString('base64')}`,
      PARLEY_PUSH_ALLOW: '127.0.0.1',
    },
  });
});
afterAll(async () => {
  await service?.stop();
  await hook?.close();
});

describe.each(BINDINGS)('A webhook that the 0.3 SDK registers over %s', (binding) => {
  let client: Client;
  beforeAll(async () => {
    const factory = new ClientFactory({
      transports: [new JsonRpcTransportFactory(), new RestTransportFactory(), new GrpcTransportFactory()],
      preferredTransports: [binding],
    });
    client = await factory.createFromUrl(`${service.httpUrl}/agents/echo/`);
  });

  const send = async (text: string, taskId?: string, pushNotificationConfig?: PushNotificationConfig) => {
    const messageId = crypto.randomUUID();
    const message = {
      kind: 'message',
      messageId,
      role: 'user',
      taskId,
      parts: [{ kind: 'text', text }],
    } as const;
    const configuration = { blocking: true, pushNotificationConfig };
    return (await client.sendMessage({
      message: { ...message, parts: [...message.parts] },
      configuration,
    })) as Task;
  };

  it('gets the whole task in 0.3, with the headers that it asked for (S000-30, S000-32)', async () => {
    const { id } = await send('ask');
    const mine = () => hook.received.filter(({ body }) => (body as unknown as Task).id === id);
    const authentication = { schemes: ['Bearer'], credentials: 'abc' };
    const wanted = { id: 'mine', url: hook.url, token: 'secret', authentication };
    const made = await client.setTaskPushNotificationConfig({ taskId: id, pushNotificationConfig: wanted });
    expect(made).toMatchObject({ taskId: id, pushNotificationConfig: { id: 'mine', url: hook.url } });
    const name = { id, pushNotificationConfigId: 'mine' };
    expect((await client.getTaskPushNotificationConfig(name)).pushNotificationConfig.url).toBe(hook.url);
    expect(await client.listTaskPushNotificationConfig({ id })).toMatchObject([{ taskId: id }]);

    const done = await send('blue', id);
    await expect
      .poll(() => mine().map(({ body }) => (body as unknown as Task).status.state))
      .toContain('completed');
    const last = mine().at(-1)!;
    expect(last.body).toEqual(await readTask(id));
    expect(last.body).toMatchObject({ kind: 'task', id: done.id });
    expect(last.headers).toMatchObject({
      'content-type': 'application/json',
      authorization: 'Bearer abc',
      'x-a2a-notification-token': 'secret',
    });

    await client.deleteTaskPushNotificationConfig(name);
    expect(await client.listTaskPushNotificationConfig({ id })).toEqual([]);
  });

  it('may come with the message (S002-174, S000-31)', async () => {
    const { id } = await send('hello', undefined, { url: hook.url });
    const states = () =>
      hook.received.map(({ body }) => body as unknown as Task).filter((task) => task.id === id);
    await expect.poll(() => states().at(-1)?.status.state).toBe('completed');
    expect(states().at(-1)?.artifacts?.[0]?.parts).toEqual([{ kind: 'text', text: 'hello' }]);
  });
});

/** The task as JSON-RPC gives it, without what the SDK makes of it. */
async function readTask(id: string): Promise<unknown> {
  const response = await fetch(`${service.httpUrl}/jsonrpc`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tasks/get', params: { id } }),
  });
  return ((await response.json()) as { result: unknown }).result;
}
