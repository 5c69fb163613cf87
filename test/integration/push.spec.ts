import { create } from '@bufbuild/protobuf';
import { Webhook } from 'standardwebhooks';
import { beforeEach, describe, expect, it } from 'vitest';
import { artifact, completed, inputRequired, message, textPart, working } from '../../src/agents/index.js';
import {
  type CallContext,
  DeleteTaskPushNotificationConfigRequestSchema,
  GetTaskPushNotificationConfigRequestSchema,
  ListTaskPushNotificationConfigsRequestSchema,
  type SendMessageRequest,
  type Task,
  TaskPushNotificationConfigSchema,
} from '../../src/protocol/index.js';
import { testConfig } from '../support/config.js';
import { call, collect, type Replica, send, until } from '../support/house.js';
import { PushStage } from '../support/push.stage.js';
import { answers, said, WebhookReceiver } from '../support/webhook.receiver.js';

const SECRET = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
const NEWER = `whsec_${Buffer.alloc(32, 2).toString('base64')}`;
const env = {
  PARLEY_PUSH_SECRETS: `${NEWER},${SECRET}`,
  PARLEY_PUSH_KEYS: `test=${Buffer.alloc(32, 3).toString('base64')}`,
  PARLEY_PUSH_ALLOW: '127.0.0.1',
  PARLEY_PUSH_RETRY_MS: '20,20,20,20,20,20,20',
};

const stage = new PushStage(env);
const { open } = stage;

async function* work() {
  yield working('on it');
  yield artifact({ parts: [textPart('one')] });
  yield artifact({ artifactId: 'b', parts: [textPart('two')] });
  yield completed();
}
const ALL = ['task', 'TASK_STATE_WORKING', 'one', 'two', 'TASK_STATE_COMPLETED'];

function hooked(config: object = {}, request = send('go')): SendMessageRequest {
  const target = create(TaskPushNotificationConfigSchema, { url: stage.hook.url, ...config });
  request.configuration!.taskPushNotificationConfig = target;
  return request;
}

const taskOf = async (replica: Replica, request: SendMessageRequest, by = call()) =>
  (await replica.service.sendMessage(request, by)).payload.value as Task;

const config = (taskId: string, more: object = {}) =>
  create(TaskPushNotificationConfigSchema, { taskId, url: stage.hook.url, ...more });
const add = (replica: Replica, taskId: string, more: object = {}, by: CallContext = call()) =>
  replica.service.createTaskPushNotificationConfig(config(taskId, more), by);
const list = async (replica: Replica, taskId: string, more: object = {}) =>
  replica.service.listTaskPushNotificationConfigs(
    create(ListTaskPushNotificationConfigsRequestSchema, { taskId, ...more }),
    call(),
  );
const remove = (replica: Replica, taskId: string, id: string) =>
  replica.service.deleteTaskPushNotificationConfig(
    create(DeleteTaskPushNotificationConfigRequestSchema, { taskId, id }),
    call(),
  );
const delivery = async (replica: Replica, taskId: string) =>
  (await replica.deliveries.deliveries({ taskId, limit: 10 }))[0]!;

describe('a webhook', () => {
  it('gets every event of its task in order, registered with the first message (B89, S004-06, S002-089, S002-127)', async () => {
    const replica = open(work);
    const task = await taskOf(replica, hooked());
    const received = await stage.hook.arrived(5);
    expect(received.map(said)).toEqual(ALL);
    expect(received[0]!.body.task).toMatchObject({ id: task.id, status: { state: 'TASK_STATE_SUBMITTED' } });
    await until(async () => (await delivery(replica, task.id)).state === 'done');
    expect(stage.hook.received).toHaveLength(5);
  });

  it('gets them signed with every secret, with token and credentials (B90, S004-07, S002-126, S000-34)', async () => {
    const replica = open(work);
    const authentication = { scheme: 'Bearer', credentials: 'let-me-in' };
    await taskOf(replica, hooked({ token: 'my-token', authentication }));
    for (const { headers, text } of await stage.hook.arrived(5)) {
      expect(headers).toMatchObject({
        'content-type': 'application/a2a+json',
        authorization: 'Bearer let-me-in',
        'x-a2a-notification-token': 'my-token',
      });
      for (const secret of [SECRET, NEWER]) {
        expect(new Webhook(secret).verify(text, headers as Record<string, string>)).toEqual(JSON.parse(text));
      }
    }
  });

  it('can have a secret of its own, which is never sent', async () => {
    const replica = open(work);
    const own = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;
    await taskOf(replica, hooked({ authentication: { scheme: 'standard-webhooks', credentials: own } }));
    const [first] = await stage.hook.arrived(5);
    expect(first!.headers.authorization).toBeUndefined();
    expect(() =>
      new Webhook(own).verify(first!.text, first!.headers as Record<string, string>),
    ).not.toThrow();
    expect(() => new Webhook(SECRET).verify(first!.text, first!.headers as Record<string, string>)).toThrow();
  });

  it('is retried with the same id until it recovers, and loses nothing (B92, S004-09, S004-10, S000-33)', async () => {
    const replica = open(work);
    let left = 5;
    stage.hook.behaviour = (received, response) => answers(left-- > 0 ? 503 : 200)(received, response);
    const task = await taskOf(replica, hooked());
    expect(task.status!.state).toBe(3);
    const received = await stage.hook.arrived(10);
    expect(received.slice(5).map(said)).toEqual(ALL);
    const ids = received.map(({ headers }) => headers['webhook-id']);
    expect(new Set(ids.slice(0, 6)).size).toBe(1);
    expect(new Set(ids).size).toBe(5);
  });

  it('that answers 410 is given up at once, and shows (B92)', async () => {
    const replica = open(work);
    const givenUp: string[] = [];
    replica.push.onGivenUp(({ taskId }, { status }) => void givenUp.push(`${taskId} ${status}`));
    stage.hook.behaviour = answers(410);
    const task = await taskOf(replica, hooked());
    await until(async () => (await delivery(replica, task.id)).state === 'dead');
    expect(await delivery(replica, task.id)).toMatchObject({ tries: 1, lastStatus: 410, cursor: 0 });
    expect(givenUp).toEqual([`${task.id} 410`]);
    expect(stage.hook.received).toHaveLength(1);
  });

  it('that never answers well is given up after the last try, and gets all when it is redelivered (S002-129)', async () => {
    const replica = open(work);
    stage.hook.behaviour = answers(500);
    const task = await taskOf(replica, hooked());
    await until(async () => (await delivery(replica, task.id)).state === 'dead');
    expect(stage.hook.received).toHaveLength(8);
    stage.hook.behaviour = answers(204);
    stage.hook.received.length = 0;
    expect(await replica.deliveries.redeliver({ host: stage.hook.host })).toBe(1);
    expect((await stage.hook.arrived(5)).map(said)).toEqual(ALL);
  });

  it('is not followed through a redirect (B83)', async () => {
    const replica = open(work, { env: { ...env, PARLEY_PUSH_RETRY_MS: '600000' } });
    stage.hook.behaviour = answers(307, { location: `${stage.hook.url}/elsewhere` });
    const task = await taskOf(replica, hooked());
    await until(async () => (await delivery(replica, task.id)).tries === 1);
    expect(stage.hook.received.map(({ url }) => url)).toEqual(['/hook']);
    expect(await delivery(replica, task.id)).toMatchObject({ lastStatus: 307, cursor: 0 });
  });

  it('waits as long as it asks for with Retry-After', async () => {
    const replica = open(work);
    stage.hook.behaviour = answers(429, { 'retry-after': '3600' });
    const task = await taskOf(replica, hooked());
    await until(async () => (await delivery(replica, task.id)).tries === 1);
    const { dueAt } = await delivery(replica, task.id);
    expect(dueAt!.getTime() - Date.now()).toBeGreaterThan(3_500_000);
  });

  it('that hangs is cut off, and neither the task nor another webhook waits for it (B93, S002-128, S002-130)', async () => {
    expect(testConfig().pushTimeoutMs).toBe(15_000);
    const replica = open(work, { env: { ...env, PARLEY_PUSH_TIMEOUT_MS: '200' } });
    const other = await WebhookReceiver.listen();
    stage.hook.behaviour = () => undefined;
    const hanging = await taskOf(replica, hooked());
    await taskOf(replica, hooked({ url: other.url }));
    await other.arrived(5);
    await until(async () => (await delivery(replica, hanging.id)).lastError === 'timeout');
    await other.close();
  });

  it.each(['a blocking send', 'a send that returns at once', 'a stream'])(
    'comes with %s, and none with a request that names none (B89)',
    async (kind) => {
      const replica = open(work);
      const by = call({ operation: kind === 'a stream' ? 'sendStreamingMessage' : 'sendMessage' });
      const ask = async (request: SendMessageRequest) => {
        request.configuration!.returnImmediately = kind.includes('at once');
        if (kind === 'a stream') await collect(await replica.service.sendStreamingMessage(request, by));
        else await replica.service.sendMessage(request, by);
      };
      await ask(send('go'));
      await ask(hooked());
      expect((await stage.hook.arrived(5)).map(said)).toEqual(ALL);
      const of = stage.hook.received[0]!.body.task as unknown as { id: string };
      const made = await replica.deliveries.deliveries({ host: stage.hook.host, limit: 10 });
      expect(made.map(({ taskId }) => taskId)).toEqual([of.id]);
    },
  );

  it('gets nothing of a direct reply (B89)', async () => {
    const replica = open(
      async function* ({ message: { parts } }) {
        if (parts[0]!.content.value === 'direct') yield message('hi');
        else yield* work();
      },
      { settings: { directReplies: true } },
    );
    await replica.service.sendMessage(hooked({}, send('direct')), call());
    await taskOf(replica, hooked());
    expect((await stage.hook.arrived(5)).map(said)).toEqual(ALL);
  });

  it('gets the following turns too, and not the messages of the caller', async () => {
    const replica = open(async function* ({ attempt: _, message: { parts } }) {
      yield parts[0]!.content.value === 'go' ? inputRequired('more?') : completed();
    });
    const task = await taskOf(replica, hooked());
    await taskOf(replica, send('more', { taskId: task.id }));
    expect((await stage.hook.arrived(3)).map(said)).toEqual([
      'task',
      'TASK_STATE_INPUT_REQUIRED',
      'TASK_STATE_COMPLETED',
    ]);
  });

  it('can come with a later message, at once stored with it', async () => {
    const replica = open(async function* ({ message: { parts } }) {
      yield parts[0]!.content.value === 'go' ? inputRequired('more?') : completed();
    });
    const task = await taskOf(replica, send('go'));
    await taskOf(replica, hooked({ id: 'late' }, send('more', { taskId: task.id })));
    expect((await stage.hook.arrived(1)).map(said)).toEqual(['TASK_STATE_COMPLETED']);
    expect((await list(replica, task.id)).configs.map(({ id }) => id)).toEqual(['late']);
  });

  it('is delivered to by another replica when the one that committed is gone (B54)', async () => {
    const gone = stage.house.replica({ script: work, env });
    await taskOf(
      gone,
      hooked(),
      call({ principal: { organisation: 'o', subject: 'bob', scopes: new Set() } }),
    );
    expect(stage.hook.received).toHaveLength(0);
    open(work);
    expect((await stage.hook.arrived(5)).map(said)).toEqual(ALL);
  });
});

describe('push configs', () => {
  let replica: Replica;
  let task: Task;
  beforeEach(async () => {
    replica = open(async function* () {
      yield inputRequired('more?');
    });
    task = await taskOf(replica, send('go'));
  });

  it('get ids of their own, and the same id replaces (B87, S002-124)', async () => {
    const first = await add(replica, task.id);
    const second = await add(replica, task.id);
    expect(first.id).not.toBe(second.id);
    await add(replica, task.id, { id: first.id, url: `${stage.hook.url}/new` });
    const { configs } = await list(replica, task.id);
    expect(configs.map(({ url }) => url).sort()).toEqual([stage.hook.url, `${stage.hook.url}/new`]);
  });

  it('outlast the replica that made them, and go with their task (S002-124)', async () => {
    const { id } = await add(replica, task.id);
    const other = open(work);
    expect((await list(other, task.id)).configs.map((each) => each.id)).toEqual([id]);
    const delivered = () => replica.deliveries.deliveries({ taskId: task.id, limit: 10 });
    expect(await delivered()).toHaveLength(1);
    await replica.postgres.query({ text: 'DELETE FROM tasks WHERE id = $1', values: [task.id] });
    expect(await delivered()).toEqual([]);
  });

  it('never show their secrets, which are encrypted at rest (B84, S002-132, S002-133)', async () => {
    const authentication = { scheme: 'Basic', credentials: 'hunter2' };
    const made = await add(replica, task.id, { token: 'swordfish', authentication });
    const read = await replica.service.getTaskPushNotificationConfig(
      create(GetTaskPushNotificationConfigRequestSchema, { taskId: task.id, id: made.id }),
      call(),
    );
    expect(read).toMatchObject({ taskId: task.id, authentication: { scheme: 'Basic' } });
    expect(JSON.stringify([made, read, await list(replica, task.id)])).not.toMatch(/hunter2|swordfish/);
    const { rows } = await replica.postgres.query({ text: `SELECT p::text FROM push_configs p` });
    expect(JSON.stringify(rows)).not.toMatch(/hunter2|swordfish/);
  });

  it('are at most twenty a task, also when they come at once', async () => {
    const results = await Promise.allSettled(Array.from({ length: 25 }, () => add(replica, task.id)));
    const refused = results.filter((result) => result.status === 'rejected');
    expect(refused.map(({ reason }) => reason.kind)).toEqual(Array(5).fill('invalidParams'));
    const first = await list(replica, task.id, { pageSize: 15 });
    const rest = await list(replica, task.id, { pageSize: 15, pageToken: first.nextPageToken });
    expect(new Set([...first.configs, ...rest.configs].map(({ id }) => id)).size).toBe(20);
    expect(rest.nextPageToken).toBe('');
  });

  it('are found by nobody but the owner of the task (B50, S004-24)', async () => {
    const { id } = await add(replica, task.id);
    const mallory = call({ principal: { organisation: '', subject: 'mallory', scopes: new Set() } });
    const request = { taskId: task.id, id };
    const { service } = replica;
    const get = create(GetTaskPushNotificationConfigRequestSchema, request);
    const all = create(ListTaskPushNotificationConfigsRequestSchema, { taskId: task.id });
    for (const attempt of [
      () => add(replica, task.id, {}, mallory),
      () => service.getTaskPushNotificationConfig(get, mallory),
      () => service.listTaskPushNotificationConfigs(all, mallory),
      () =>
        service.deleteTaskPushNotificationConfig(
          create(DeleteTaskPushNotificationConfigRequestSchema, request),
          mallory,
        ),
    ]) {
      await expect(attempt()).rejects.toMatchObject({ kind: 'taskNotFound' });
    }
    await expect(remove(replica, task.id, id)).resolves.toBeDefined();
    await expect(remove(replica, task.id, id)).resolves.toBeDefined();
    expect((await list(replica, task.id)).configs).toEqual([]);
  });

  it('take no header that would break out of its line', async () => {
    for (const token of ['a\r\nX-Evil: 1', 'ключ']) {
      await expect(add(replica, task.id, { token })).rejects.toMatchObject({ kind: 'invalidParams' });
    }
    const authentication = { scheme: 'Bearer\n', credentials: 'x' };
    await expect(add(replica, task.id, { authentication })).rejects.toMatchObject({ kind: 'invalidParams' });
  });

  it('are told of nothing after their deletion has returned', async () => {
    let answer: (() => void) | undefined;
    stage.hook.behaviour = (_, response) => {
      answer = () => response.writeHead(200).end();
    };
    const rival = open(work);
    const { id } = await add(replica, task.id);
    await taskOf(replica, send('again', { taskId: task.id }));
    await stage.hook.arrived(1);
    const deleted = remove(rival, task.id, id).then(() => stage.hook.received.length);
    await until(async () => (await list(rival, task.id)).configs.length === 0);
    answer!();
    const before = await deleted;
    await taskOf(replica, send('again', { taskId: task.id }));
    const other = await WebhookReceiver.listen();
    await add(replica, task.id, { url: other.url });
    await taskOf(replica, send('again', { taskId: task.id }));
    await other.arrived(1);
    await other.close();
    expect(stage.hook.received).toHaveLength(before);
  });
});
