import type { JsonObject } from '@bufbuild/protobuf';
import pg from 'pg';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BINDINGS, callAny } from '../support/any.binding.js';
import { until } from '../support/house.js';
import { OperatorStream } from '../support/operator.stream.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';
import { type RunningService, startService } from '../support/service.js';
import { answers, WebhookReceiver } from '../support/webhook.receiver.js';

const TOKEN = 'the-operators-own-token';
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

let receiver: WebhookReceiver;
let database: TestDatabase;
let replicas: RunningService[];

beforeAll(async () => {
  receiver = await WebhookReceiver.listen();
  database = await createDatabase();
  const env = {
    PARLEY_AGENTS: 'echo,deployer',
    PARLEY_OPERATOR_TOKEN: TOKEN,
    PARLEY_APPROVAL_WEBHOOK: receiver.url,
    PARLEY_APPROVAL_SECRET: SECRET,
    PARLEY_APPROVAL_EXPIRY: 'ever,echo=3s',
    PARLEY_PUSH_ALLOW: '127.0.0.1',
    PARLEY_PUSH_RETRY_MS: '50,50,50',
    PARLEY_PUBLIC_URL: 'https://agents.example.com',
  };
  replicas = await Promise.all([startService({ database, env }), startService({ database, env })]);
});
afterAll(async () => {
  await Promise.all((replicas ?? []).map((replica) => replica.stop()));
  await receiver?.close();
  await database?.drop();
});

let messages = 0;
async function send(
  text: string,
  more: { tenant?: string; taskId?: string; binding?: (typeof BINDINGS)[number] } = {},
) {
  const { tenant = 'deployer', taskId, binding = 'JSONRPC' } = more;
  const message = {
    messageId: `a-${++messages}`,
    role: 'ROLE_USER',
    parts: [{ text }],
    ...(taskId && { taskId }),
  };
  const request: JsonObject = { tenant, message };
  const { reply } = await callAny(replicas[0]!, { binding, operation: 'sendMessage', request });
  return (reply as { task: { id: string; status: { state: string } } }).task;
}

async function answer(taskId: string, body: object) {
  const response = await fetch(`${replicas[1]!.httpUrl}/operator/approvals/${taskId}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: response.status, text: await response.text() };
}

async function stateOf(id: string, tenant = 'deployer'): Promise<JsonObject> {
  const call = { binding: 'JSONRPC', operation: 'getTask', request: { tenant, id } } as const;
  return (await callAny(replicas[0]!, call)).reply as JsonObject;
}

const bodies = (taskId: string) =>
  receiver.received.filter(({ text }) => text.includes(taskId)).map(({ body }) => body as JsonObject);
const told = async (taskId: string, type: string) => {
  const find = () => bodies(taskId).find((body) => body.type === type);
  await until(() => find() !== undefined);
  return find()!;
};

async function audited(taskId: string): Promise<{ subject: string; details: JsonObject }[]> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    const text = `SELECT subject, details FROM audit_log WHERE act = 'approval' AND details->>'taskId' = $1`;
    return (await client.query(text, [taskId])).rows;
  } finally {
    await client.end();
  }
}

describe('A task that waits for an approval', () => {
  it.each(BINDINGS)(
    'begun over %s is told to the webhook and the streams of every replica, and its end too',
    async (binding) => {
      const streams = replicas.map(({ httpUrl }) => new OperatorStream(httpUrl, { token: TOKEN }));
      const { id } = await send('deploy cart 1.0 to staging', { binding });
      const notice = await told(id, 'approval.waiting');
      const waiting = await Promise.all(streams.map((stream) => stream.told('waiting', id)));

      expect(notice).toMatchObject({
        text: expect.stringContaining('An operator has to approve the deploy of cart 1.0 to staging'),
        data: {
          agent: 'deployer',
          question: { id: 'deploy', kind: 'approval', action: { arguments: { release: 'cart 1.0' } } },
          answerAt: `https://agents.example.com/operator/approvals/${id}`,
        },
      });
      expect(waiting[0]).toEqual(waiting[1]);
      expect((await answer(id, { by: 'olga', reason: 'tested', since: waiting[0]!.data.since })).status).toBe(
        200,
      );

      expect(await told(id, 'approval.resolved')).toMatchObject({ data: { taskId: id, agent: 'deployer' } });
      const resolved = await Promise.all(streams.map((stream) => stream.told('resolved', id)));
      expect(resolved[0]!.id).toBe(resolved[1]!.id);
      expect(Number(resolved[0]!.id)).toBeGreaterThan(Number(waiting[0]!.id));
      await until(async () => (await audited(id)).length === 1);
      expect(await audited(id)).toMatchObject([
        { subject: 'olga', details: { reason: 'approved', why: 'tested' } },
      ]);
      expect(bodies(id).map(({ type }) => type)).toEqual(['approval.waiting', 'approval.resolved']);
      await Promise.all(streams.map((stream) => stream.close()));
    },
  );

  it('is told signed, and again until it is taken, under the same id', async () => {
    receiver.behaviour = answers(503);
    const { id } = await send('deploy cart 1.1 to staging');
    const posts = () => receiver.received.filter(({ text }) => text.includes(id));
    await until(() => posts().length >= 2);
    receiver.behaviour = answers(200);
    await until(() => posts().length >= 3);

    const [first, second] = posts();
    expect(first!.headers['webhook-id']).toBe(second!.headers['webhook-id']);
    for (const { headers, text } of posts())
      expect(new Webhook(SECRET).verify(text, headers as Record<string, string>)).toMatchObject({
        type: 'approval.waiting',
      });
    await answer(id, {});
  });

  it('never makes a chat call anybody or follow a link', async () => {
    const { id } = await send('deploy <!channel> & <https://evil.example|x> to staging');
    const { text } = await told(id, 'approval.waiting');

    expect(text).toContain('&lt;!channel&gt; &amp; &lt;https://evil.example|x&gt;');
    await answer(id, { approved: false });
  });

  it('is resumed by one approval, of the wait that it is for, and no other task with it (S002-096, 7.6.4)', async () => {
    const { id } = await send('deploy cart 2.0 to staging');
    const other = await send('deploy cart 2.1 to staging');

    expect((await answer(id, { since: '2026-01-01T00:00:00.000Z' })).status).toBe(400);
    expect((await stateOf(id)).status).toMatchObject({ state: 'TASK_STATE_AUTH_REQUIRED' });
    const [one, two] = await Promise.all([answer(id, { by: 'ann' }), answer(id, { by: 'bob' })]);
    expect([one.status, two.status].sort()).toEqual([200, 400]);
    await until(async () => JSON.stringify((await stateOf(id)).status).includes('COMPLETED'));
    expect((await stateOf(other.id)).status).toMatchObject({ state: 'TASK_STATE_AUTH_REQUIRED' });
    await answer(other.id, { approved: false });
  });

  it('is refused when nobody has answered in time, once, with the reason', async () => {
    const { id } = await send('auth', { tenant: 'echo' });
    await until(async () => JSON.stringify((await stateOf(id, 'echo')).status).includes('REJECTED'));

    const task = await stateOf(id, 'echo');
    expect(task.status).toMatchObject({ message: { parts: [{ text: 'Nobody answered in time.' }] } });
    expect(task.metadata).toMatchObject({ 'parley.dev/approval': { approved: false, by: 'parley' } });
    await until(async () => (await audited(id)).length > 0);
    expect(await audited(id)).toMatchObject([{ subject: 'parley', details: { reason: 'expired' } }]);
    expect(await told(id, 'approval.waiting')).toMatchObject({ data: { expiresAt: expect.any(String) } });
  });
});

describe('The stream of waiting tasks', () => {
  it('begins with all that wait, and goes on after the last event that was seen', async () => {
    const early = await send('deploy cart 3.0 to staging');
    const first = new OperatorStream(replicas[0]!.httpUrl, { token: TOKEN });
    const seen = await first.told('waiting', early.id);
    await first.close();
    const late = await send('deploy cart 3.1 to staging');
    await answer(early.id, { approved: false });

    const second = new OperatorStream(replicas[1]!.httpUrl, { token: TOKEN, lastEventId: seen.id });
    await second.told('waiting', late.id);
    await second.told('resolved', early.id);
    expect(
      second.events.filter(({ type, data }) => type === 'waiting' && data.task?.id === early.id),
    ).toEqual([]);
    const ids = second.events.map(({ id }) => Number(id));
    expect(ids).toEqual(ids.toSorted((a, b) => a - b));
    await second.close();

    const fresh = new OperatorStream(replicas[1]!.httpUrl, { token: TOKEN, query: 'agent=deployer' });
    await fresh.told('waiting', late.id);
    expect(fresh.events.some(({ data }) => data.task?.id === early.id)).toBe(false);
    await fresh.close();
    await answer(late.id, { approved: false });
  });

  it('tells of the tasks alone that were asked for, and refuses what it does not know', async () => {
    const query = 'agent=echo&state=TASK_STATE_INPUT_REQUIRED';
    const stream = new OperatorStream(replicas[0]!.httpUrl, { token: TOKEN, query });
    const deploy = await send('deploy cart 4.0 to staging');
    const asked = await send('ask', { tenant: 'echo' });
    await stream.told('waiting', asked.id);
    await send('hello', { tenant: 'echo', taskId: asked.id });
    await stream.told('resolved', asked.id);

    expect(JSON.stringify(stream.events)).not.toContain(deploy.id);
    await stream.close();
    await answer(deploy.id, { approved: false });
    for (const [path, token, status] of [
      ['?state=TASK_STATE_WORKING', TOKEN, 400],
      ['', 'wrong', 401],
    ] as const) {
      const url = `${replicas[0]!.httpUrl}/operator/approvals/stream${path}`;
      expect((await fetch(url, { headers: { authorization: `Bearer ${token}` } })).status).toBe(status);
    }
  });

  it('ends with its replica, which an open one does not keep from stopping', async () => {
    const stream = new OperatorStream(replicas[1]!.httpUrl, { token: TOKEN });
    const { id } = await send('deploy cart 5.0 to staging');
    await stream.told('waiting', id);
    const [leaving] = replicas.splice(1, 1);

    expect(await leaving!.stop()).toBe(0);
    await stream.ended;
  });
});
