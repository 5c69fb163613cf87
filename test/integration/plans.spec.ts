import { create } from '@bufbuild/protobuf';
import pg from 'pg';
import { expect, it } from 'vitest';
import { artifact, completed, inputRequired, type TurnContext, textPart } from '../../src/agents/index.js';
import {
  ListTasksRequestSchema,
  TaskPushNotificationConfigSchema,
  TaskState,
} from '../../src/protocol/index.js';
import { call, collect, Replica, send, until } from '../support/house.js';
import { createDatabase } from '../support/postgres.js';
import { WebhookReceiver } from '../support/webhook.receiver.js';

const TABLES = ['tasks', 'task_events', 'push_configs'];
const env = {
  PARLEY_PUSH_SECRETS: `whsec_${Buffer.alloc(32, 1).toString('base64')}`,
  PARLEY_PUSH_KEYS: `test=${Buffer.alloc(32, 3).toString('base64')}`,
  PARLEY_PUSH_ALLOW: '127.0.0.1',
};

async function* script({ message }: TurnContext) {
  if (message.parts[0]?.content.value === 'ask') yield inputRequired('which?');
  yield artifact({ parts: [textPart('one')] });
  yield completed();
}

/** How often each table was read from end to end. A session tells it when it is over: none may be left. */
async function wholeReads(url: string): Promise<Record<string, number>> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const others = `SELECT FROM pg_stat_activity WHERE datname = current_database()
      AND backend_type = 'client backend' AND pid <> pg_backend_pid()`;
    await until(async () => (await client.query(others)).rowCount === 0);
    const reads = 'SELECT relname, seq_scan::int FROM pg_stat_user_tables WHERE relname = ANY($1)';
    const { rows } = await client.query<{ relname: string; seq_scan: number }>(reads, [TABLES]);
    return Object.fromEntries(rows.map(({ relname, seq_scan }) => [relname, seq_scan]));
  } finally {
    await client.end();
  }
}

/** Every kind of call, often enough that each connection keeps a general plan of each statement. */
async function everyCall(replica: Replica, hook: WebhookReceiver): Promise<void> {
  const push = create(TaskPushNotificationConfigSchema, { url: hook.url });
  const request = send('go');
  request.configuration!.taskPushNotificationConfig = push;
  await replica.service.sendMessage(request, call());
  await collect(await replica.service.sendStreamingMessage(send('go'), call()));
  const [first, second] = [await replica.begin('ask'), await replica.begin('ask')];
  for (const id of [first, second]) {
    const waits = async () => (await replica.read(id)).status?.state === TaskState.INPUT_REQUIRED;
    await until(waits);
  }
  await replica.service.sendMessage(send('this', { taskId: first }), call());
  await replica.cancel(second);
  for (const status of [TaskState.UNSPECIFIED, TaskState.COMPLETED, TaskState.INPUT_REQUIRED]) {
    const list = create(ListTasksRequestSchema, { status, pageSize: 2 });
    await replica.service.listTasks(list, call({ operation: 'listTasks' }));
  }
  await replica.store.changes({ scope: { organisation: '', owner: 'alice', agent: 'echo' }, limit: 2 });
}

it('finds every row by an index, with plans made while the tables were empty', async () => {
  const database = await createDatabase();
  const hook = await WebhookReceiver.listen();
  try {
    const before = await wholeReads(database.url);
    const replica = await new Replica(database.url, { script, env, leaseMs: 1_000 }).live();
    for (let round = 0; round < 10; round++) await everyCall(replica, hook);
    await until(() => hook.received.length >= 30);
    await replica.close();
    expect(await wholeReads(database.url)).toEqual(before);
  } finally {
    await hook.close();
    await database.drop();
  }
});
