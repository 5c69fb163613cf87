import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { OperationName } from '../../src/protocol/index.js';
import { BINDINGS, callAny } from '../support/any.binding.js';
import { message } from '../support/caller.matrix.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';
import { type RunningService, startService } from '../support/service.js';
import { said, WebhookReceiver } from '../support/webhook.receiver.js';

const SECRET = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
const KEYS = `test=${Buffer.alloc(32, 3).toString('base64')}`;

let database: TestDatabase;
let off: RunningService;
let on: RunningService;
let hook: WebhookReceiver;
beforeAll(async () => {
  database = await createDatabase();
  hook = await WebhookReceiver.listen();
  const push = { PARLEY_PUSH_SECRETS: SECRET, PARLEY_PUSH_KEYS: KEYS, PARLEY_PUSH_ALLOW: '127.0.0.1' };
  [off, on] = await Promise.all([startService({ database }), startService({ database, env: push })]);
});
afterAll(async () => {
  await Promise.all([off?.stop(), on?.stop()]);
  await hook?.close();
  await database?.drop();
});

const declared = async ({ httpUrl }: RunningService) => {
  const card = await (await fetch(`${httpUrl}/.well-known/agent-card.json`)).json();
  return (card as { capabilities: { pushNotifications: boolean } }).capabilities.pushNotifications;
};

describe.each(BINDINGS)('On %s', (binding) => {
  const ask = (service: RunningService, operation: OperationName, request: object) =>
    callAny(service, { binding, operation, request: request as never });

  it('push is off until the operator gives a secret, and nothing is looked up or stored (S004-08)', async () => {
    const [taskId, contextId] = [randomUUID(), randomUUID()];
    const { message: said } = message('hello') as { message: object };
    const asked = {
      message: { ...said, contextId },
      configuration: { taskPushNotificationConfig: { url: hook.url } },
    };
    for (const [operation, request] of [
      ['createTaskPushNotificationConfig', { taskId, url: hook.url }],
      ['getTaskPushNotificationConfig', { taskId, id: 'a' }],
      ['listTaskPushNotificationConfigs', { taskId }],
      ['deleteTaskPushNotificationConfig', { taskId, id: 'a' }],
      ['sendMessage', asked],
      ['sendStreamingMessage', asked],
    ] as const) {
      expect((await ask(off, operation, request)).reason, operation).toBe('PUSH_NOTIFICATION_NOT_SUPPORTED');
    }
    expect((await ask(off, 'listTasks', { contextId })).reply).toMatchObject({ totalSize: 0 });
    expect([await declared(off), await declared(on)]).toEqual([false, true]);
    expect((await ask(on, 'listTaskPushNotificationConfigs', { taskId })).reason).toBe('TASK_NOT_FOUND');
  });

  it('a webhook gets the same: one StreamResponse in JSON for each event (S002-125, S002-127)', async () => {
    hook.received.length = 0;
    const configuration = { taskPushNotificationConfig: { id: 'mine', url: hook.url, token: 'token' } };
    const { reply } = await ask(on, 'sendMessage', { ...message('hello'), configuration });
    const { id, contextId } = (reply as unknown as { task: { id: string; contextId: string } }).task;
    const received = await hook.arrived(3);

    expect(received.map(said)).toEqual(['task', 'hello', 'TASK_STATE_COMPLETED']);
    for (const { headers, body } of received) {
      expect(headers).toMatchObject({
        'content-type': 'application/a2a+json',
        'x-a2a-notification-token': 'token',
      });
      expect(Object.keys(body)).toHaveLength(1);
      const [event] = Object.values(body);
      expect(event).toMatchObject(body.task ? { id, contextId } : { taskId: id, contextId });
    }
  });

  it('the four operations do what they say (S002-124, B87)', async () => {
    const { reply } = await ask(on, 'sendMessage', message('ask'));
    const taskId = (reply as unknown as { task: { id: string } }).task.id;
    const named = { taskId, id: 'mine', url: hook.url, token: 'secret' };
    const made = await ask(on, 'createTaskPushNotificationConfig', named);
    expect(made.reply).toMatchObject({ taskId, id: 'mine', url: hook.url });
    const other = await ask(on, 'createTaskPushNotificationConfig', { taskId, url: `${hook.url}/2` });
    const { id } = other.reply as unknown as { id: string };
    expect((await ask(on, 'getTaskPushNotificationConfig', { taskId, id: 'mine' })).reply).toEqual(
      made.reply,
    );
    expect(JSON.stringify(made.reply)).not.toContain('secret');
    const list = async () => {
      const { reply: page } = await ask(on, 'listTaskPushNotificationConfigs', { taskId });
      return ((page as unknown as { configs?: { id: string }[] }).configs ?? []).map((config) => config.id);
    };
    expect((await list()).sort()).toEqual([id, 'mine'].sort());
    for (const gone of ['mine', 'mine', id]) {
      expect(
        (await ask(on, 'deleteTaskPushNotificationConfig', { taskId, id: gone })).reason,
      ).toBeUndefined();
    }
    expect(await list()).toEqual([]);
  });
});
