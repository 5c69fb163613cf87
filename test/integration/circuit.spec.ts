import { create } from '@bufbuild/protobuf';
import { Logger } from '@nestjs/common';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { completed } from '../../src/agents/index.js';
import { TaskPushNotificationConfigSchema } from '../../src/protocol/index.js';
import { call, House, type Replica, send, taskOf, until } from '../support/house.js';
import { answers, WebhookReceiver } from '../support/webhook.receiver.js';

const env = {
  PARLEY_PUSH_SECRETS: `whsec_${Buffer.alloc(32, 1).toString('base64')}`,
  PARLEY_PUSH_KEYS: `test=${Buffer.alloc(32, 3).toString('base64')}`,
  PARLEY_PUSH_ALLOW: '127.0.0.1',
  PARLEY_PUSH_RETRY_MS: Array(100).fill('1').join(','),
};

let house: House;
let hook: WebhookReceiver;
let replicas: Replica[];
beforeAll(async () => {
  Logger.overrideLogger(false);
  house = await House.open();
  hook = await WebhookReceiver.listen();
  async function* script() {
    yield completed();
  }
  replicas = await Promise.all([0, 1].map(() => house.replica({ script, env }).live()));
});
afterAll(async () => {
  await house.close();
  await hook.close();
});

async function hooked(replica: Replica): Promise<string> {
  const request = send('go');
  const target = create(TaskPushNotificationConfigSchema, { url: hook.url });
  request.configuration!.taskPushNotificationConfig = target;
  return taskOf(await replica.service.sendMessage(request, call())).id;
}

it('A receiver that keeps failing is paused for every replica, and probed by one push', async () => {
  const [replica, other] = replicas as [Replica, Replica];
  const { deliveries, postgres } = replica;
  const failures = async () => (await deliveries.failing()).map((host) => host.failures);
  const pauseFor = (ms: number) =>
    postgres.query({ text: `UPDATE push_pauses SET until = now() + interval '${ms} ms'` });
  const pushing = 'SELECT FROM push_configs WHERE claimed_until IS NOT NULL';

  hook.behaviour = answers(500);
  const tasks: string[] = [];
  for (let n = 0; n < 5; n++) tasks.push(await hooked(replica), await hooked(other));
  await until(async () => (await failures())[0] === 20);
  await pauseFor(3_600_000);
  await until(async () => (await postgres.query({ text: pushing })).rowCount === 0);

  const before = hook.received.length;
  for (const probe of [1, 2]) {
    await pauseFor(0);
    await until(async () => (await failures())[0] === 20 + probe);
    expect(hook.received).toHaveLength(before + probe);
  }

  hook.behaviour = answers(200);
  await pauseFor(0);
  await until(async () => (await failures()).length === 0);
  for (const taskId of tasks) {
    const done = async () => (await deliveries.deliveries({ taskId, limit: 1 }))[0]?.state === 'done';
    await until(done);
  }
});

it('A receiver that kept failing is forgotten when nothing was pushed to it for a day', async () => {
  const { deliveries, postgres } = replicas[0]!;
  await deliveries.trip('gone.example', 20, false);
  await deliveries.trip('new.example', 20, false);
  await postgres.query({
    text: `UPDATE push_pauses SET until = now() - interval '25 hours' WHERE host = 'gone.example'`,
  });
  await deliveries.sweep();
  expect((await deliveries.failing()).map(({ host }) => host)).toEqual(['new.example']);
});
