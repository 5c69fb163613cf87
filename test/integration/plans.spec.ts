import { create } from '@bufbuild/protobuf';
import pg from 'pg';
import { expect, it } from 'vitest';
import { artifact, completed, inputRequired, type TurnContext, textPart } from '../../src/agents/index.js';
import { Postgres } from '../../src/database/index.js';
import {
  ListTasksRequestSchema,
  TaskPushNotificationConfigSchema,
  TaskState,
} from '../../src/protocol/index.js';
import { READ, REQUEST_CANCEL } from '../../src/tasks/postgres-task.sql.js';
import { testConfig } from '../support/config.js';
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

it('finds a task by its key however many its owner has, also before the tables were analysed', async () => {
  const database = await createDatabase();
  const postgres = new Postgres(testConfig({ PARLEY_DATABASE_URL: database.url }));
  try {
    const { rows: tasks } = await postgres.query<{ id: string }>({
      text: `INSERT INTO tasks (id, organisation, owner, agent, context_id, state, status_at, version, inbox_seq, lease_token)
        SELECT gen_random_uuid(), 'acme', 'alice', 'echo', 'many', 3, now() - interval '1 day', 1, 1, 1
        FROM generate_series(1, 20000) RETURNING id`,
    });
    const values = [tasks[0]!.id, 'acme', 'alice', 'echo'];
    const statements: [string, string[]][] = [
      [READ, values.map((value) => `{${value}}`)],
      [REQUEST_CANCEL, values],
    ];
    for (const [text, given] of statements) {
      const explain = `EXPLAIN ${text.replace(/\$(\d)/g, (_, place) => `'${given[Number(place) - 1]}'`)}`;
      const { rows } = await postgres.query<{ 'QUERY PLAN': string }>({ text: explain });
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
      expect(plan).toContain('tasks_pkey');
      expect(plan).not.toContain('tasks_by_status');
    }
  } finally {
    await postgres.onApplicationShutdown();
    await database.drop();
  }
});
