import { create } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';
import { artifact, completed, inputRequired, textPart, working } from '../../src/agents/index.js';
import {
  DeleteTaskPushNotificationConfigRequestSchema,
  ListTaskPushNotificationConfigsRequestSchema,
  type SendMessageRequest,
  TaskPushNotificationConfigSchema,
} from '../../src/protocol/index.js';
import { call, type Replica, send, taskOf, until } from '../support/house.js';
import { PushStage } from '../support/push.stage.js';
import { answers, said, WebhookReceiver } from '../support/webhook.receiver.js';

const env = {
  PARLEY_PUSH_UNSIGNED: 'true',
  PARLEY_PUSH_KEYS: `test=${Buffer.alloc(32, 3).toString('base64')}`,
  PARLEY_PUSH_ALLOW: '127.0.0.1',
  PARLEY_PUSH_RETRY_MS: '20,20,20,20,20,20,20',
};

const stage = new PushStage(env);
const { open } = stage;

async function* work() {
  yield working('on it');
  yield artifact({ parts: [textPart('one')] });
  yield completed();
}
const ALL = ['task', 'TASK_STATE_WORKING', 'one', 'TASK_STATE_COMPLETED'];

function hooked(config: object = {}): SendMessageRequest {
  const request = send('go');
  const target = create(TaskPushNotificationConfigSchema, { url: stage.hook.url, ...config });
  request.configuration!.taskPushNotificationConfig = target;
  return request;
}

const begun = async (replica: Replica, request: SendMessageRequest) =>
  taskOf(await replica.service.sendMessage(request, call()));
const add = (replica: Replica, taskId: string, more: object) =>
  replica.service.createTaskPushNotificationConfig(
    create(TaskPushNotificationConfigSchema, { taskId, url: stage.hook.url, ...more }),
    call(),
  );
const list = async (replica: Replica, taskId: string) => {
  const request = create(ListTaskPushNotificationConfigsRequestSchema, { taskId });
  return (await replica.service.listTaskPushNotificationConfigs(request, call())).configs;
};
const delivery = async (replica: Replica, taskId: string) =>
  (await replica.deliveries.deliveries({ taskId, limit: 10 }))[0]!;

it.each([410, 429])(
  'A webhook that answers %i to a try that was under way says nothing of the one that replaces it',
  async (status) => {
    const replica = open(work);
    let answer = () => {};
    stage.hook.behaviour = (received, response) => {
      answer = () => answers(status, { 'retry-after': '3600' })(received, response);
    };
    const task = await begun(replica, hooked({ id: 'mine' }));
    await stage.hook.arrived(1);
    const other = await WebhookReceiver.listen();
    await add(replica, task.id, { id: 'mine', url: other.url });
    answer();
    expect((await other.arrived(4)).map(said)).toEqual(ALL);
    await until(async () => (await delivery(replica, task.id)).state === 'done');
    await other.close();
  },
);

/** Has the receiver keep its answer to one push back; `arrived` when it has come. */
function held(text: string) {
  let answer: (() => void) | undefined;
  stage.hook.behaviour = (received, response) => {
    if (answer === undefined && said(received) === text) answer = () => answers(200)(received, response);
    else answers(200)(received, response);
  };
  return { arrived: () => until(() => answer !== undefined), answer: () => answer?.() };
}

it.each([0, 1])(
  'What is redelivered after event %i while a push is under way is sent again',
  async (after) => {
    const replica = open(work);
    const push = held('one');
    const task = await begun(replica, hooked());
    await push.arrived();
    expect(await replica.deliveries.redeliver({ taskId: task.id, after })).toBe(1);
    push.answer();
    await until(async () => (await delivery(replica, task.id)).state === 'done');
    const texts = stage.hook.received.map(said);
    expect(texts.slice(0, 3)).toEqual(ALL.slice(0, 3));
    expect(texts.slice(-4)).toEqual(ALL);
    expect(texts.length).toBeGreaterThanOrEqual(7);
  },
);

it('A webhook that is deleted and made anew while a push is under way hears nothing from before', async () => {
  const replica = open(async function* ({ message: { parts } }) {
    yield parts[0]!.content.value === 'end' ? completed() : inputRequired('more?');
  });
  const other = open(work);
  const push = held('task');
  const { id: taskId } = await begun(replica, hooked({ id: 'x' }));
  await push.arrived();
  const { service } = other;
  const request = create(DeleteTaskPushNotificationConfigRequestSchema, { taskId, id: 'x' });
  const deleted = service.deleteTaskPushNotificationConfig(request, call());
  await until(async () => (await list(other, taskId)).length === 0);
  await replica.service.sendMessage(send('more', { taskId }), call());
  const anew = await WebhookReceiver.listen();
  await add(other, taskId, { id: 'x', url: anew.url });
  push.answer();
  await deleted;
  await replica.service.sendMessage(send('end', { taskId }), call());
  expect((await anew.arrived(1)).map(said)).toEqual(['TASK_STATE_COMPLETED']);
  await until(async () => (await delivery(replica, taskId)).state === 'done');
  expect(anew.received).toHaveLength(1);
  await anew.close();
});

it('A receiver that never answers leaves room for others, also where there is little', async () => {
  const replica = open(work, { env: { ...env, PARLEY_PUSH_CONCURRENCY: '2' } });
  const dead = await WebhookReceiver.listen();
  dead.behaviour = () => undefined;
  for (let n = 0; n < 4; n++) await begun(replica, hooked({ url: dead.url }));
  await dead.arrived(1);
  await begun(replica, hooked());
  expect((await stage.hook.arrived(4)).map(said)).toEqual(ALL);
  expect(dead.received).toHaveLength(1);
  await dead.close();
});

it('A webhook whose credentials no key opens any more is tried again later, and seen, and replaced', async () => {
  const replica = open(work);
  stage.hook.behaviour = answers(500);
  const task = await begun(replica, hooked({ id: 'mine', token: 'a' }));
  await stage.hook.arrived(1);
  await replica.push.beforeApplicationShutdown();
  const keys = { PARLEY_PUSH_KEYS: `new=${Buffer.alloc(32, 4).toString('base64')}` };
  const other = open(work, { env: { ...env, ...keys, PARLEY_PUSH_RETRY_MS: '20,600000' } });
  await until(async () => (await delivery(other, task.id)).lastError === 'key gone');
  expect(await list(other, task.id)).toMatchObject([{ id: 'mine', url: stage.hook.url, token: '' }]);
  stage.hook.behaviour = answers(200);
  stage.hook.received.length = 0;
  await add(other, task.id, { id: 'mine', token: 'b' });
  const received = await stage.hook.arrived(4);
  expect(received.map(said)).toEqual(ALL);
  expect(received[0]!.headers['x-a2a-notification-token']).toBe('b');
});

it('A webhook is posted large events one claim after the other, in order', async () => {
  const replica = open(async function* () {
    for (let n = 0; n < 6; n++)
      yield artifact({ artifactId: `${n}`, parts: [textPart(`${n}`.repeat(700_000))] });
    yield completed();
  });
  const task = await begun(replica, hooked());
  const received = await stage.hook.arrived(8);
  expect(received.map((each) => said(each)[0])).toEqual(['t', '0', '1', '2', '3', '4', '5', 'T']);
  await until(async () => (await delivery(replica, task.id)).state === 'done');
});
