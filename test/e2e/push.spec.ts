import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../support/house.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';
import { firsts, UnreliableReceiver } from '../support/push.audit.js';
import { type RunningService, startService } from '../support/service.js';

/** `npm run verify -- push` runs it in full; `npm test` a short form. */
const FULL = process.env.PARLEY_TEST_FULL === 'true';
const TASKS = FULL ? 1_000 : 40;
const AT_ONCE = 16;
const LIMIT_MS = FULL ? 900_000 : 180_000;
const SECRET = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;

const env = {
  PARLEY_PUSH_SECRETS: SECRET,
  PARLEY_PUSH_KEYS: `test=${Buffer.alloc(32, 3).toString('base64')}`,
  PARLEY_PUSH_ALLOW: '127.0.0.1',
  PARLEY_PUSH_TIMEOUT_MS: '1000',
  PARLEY_PUSH_RETRY_MS: Array(40).fill('200').join(','),
  PARLEY_LEASE_MS: '2000',
};

let database: TestDatabase;
let services: RunningService[];
let receivers: UnreliableReceiver[];

beforeAll(async () => {
  database = await createDatabase();
  services = await Promise.all([startService({ env, database }), startService({ env, database })]);
  const options = { secret: SECRET, fails: 0.3, hangs: 0.05, random: Math.random };
  receivers = await Promise.all([0, 1, 2].map(() => new UnreliableReceiver(options).up()));
});
afterAll(async () => {
  await Promise.all((services ?? []).map((service) => service.stop()));
  await Promise.all((receivers ?? []).map((receiver) => receiver.down()));
  await database?.drop();
});

let next = 0;

/** Calls a replica, another one when it is away: what is sent twice is done once. */
async function rpc(method: string, params: object): Promise<{ task: { id: string }; id: string }> {
  for (let tries = 0; ; tries++) {
    try {
      const response = await fetch(`${services[next++ % services.length]!.httpUrl}/jsonrpc`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      });
      const { result, error } = (await response.json()) as { result: never; error?: { message: string } };
      if (!error) return result;
      throw new Error(`${method}: ${error.message}`);
    } catch (error) {
      if (tries === 20) throw error;
      await until(() => true);
    }
  }
}

const say = (text: string, more: object = {}) => ({
  message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...more },
});

/** A task with a config at each receiver: the first comes with it, the others while it waits. Then five events. */
async function runTask(): Promise<string> {
  const path = `/${randomUUID()}`;
  const [first, ...others] = receivers;
  const taskPushNotificationConfig = { id: 'config-0', url: first!.url + path };
  const { task } = await rpc('SendMessage', {
    ...say('ask go on?'),
    configuration: { taskPushNotificationConfig },
  });
  for (const [i, receiver] of others.entries()) {
    const config = { taskId: task.id, id: `config-${i + 1}`, url: receiver.url + path };
    await rpc('CreateTaskPushNotificationConfig', config);
  }
  const configuration = { returnImmediately: true };
  await rpc('SendMessage', { ...say('chunks 3', { taskId: task.id }), configuration });
  return task.id;
}

interface Config {
  readonly task_id: string;
  readonly id: string;
  readonly url: string;
  readonly state: string;
  readonly log: number[];
}

async function query<Row extends object>(text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}

const ended = () =>
  query<{ open: string }>(`
  SELECT (SELECT count(*) FROM push_configs WHERE state = 'open') + (SELECT count(*) FROM tasks WHERE state NOT IN (3, 4)) AS open`);

describe('push', () => {
  it(
    `brings every event of ${TASKS} tasks to three unreliable receivers, in order, while a replica is killed (S002-128)`,
    async () => {
      const start = Date.now();
      const ids: string[] = [];
      const tasks = Array.from({ length: AT_ONCE }, async () => {
        while (ids.length < TASKS) {
          const place = ids.push('') - 1;
          ids[place] = await runTask();
        }
      });
      await until(() => ids.length > TASKS / 3, LIMIT_MS);
      await receivers[2]!.down();
      await services[0]!.kill();
      await until(() => ids.length > TASKS / 2, LIMIT_MS);
      const removed = await removeSome(ids.filter(Boolean).slice(0, 10));
      services[0] = await startService({ env, database });
      await receivers[2]!.up();
      await Promise.all(tasks);
      await until(async () => (await ended())[0]!.open === '0', LIMIT_MS);

      const configs = await query<Config>(`
        SELECT p.task_id, p.id, p.url, p.state, (
          SELECT array_agg(e.seq::int ORDER BY e.seq) FROM task_events e
          WHERE e.task_id = p.task_id AND e.payload->'message' IS NULL
        ) AS log FROM push_configs p`);
      expect(configs).toHaveLength(TASKS * 3 - removed.size);
      const wrong = configs.filter(({ id, url, log }) => {
        const expected = id === 'config-0' ? log : log.slice(2);
        return JSON.stringify(firsts(takenOf(url))) !== JSON.stringify(expected);
      });
      expect(wrong).toEqual([]);
      expect(new Set(configs.map(({ state }) => state))).toEqual(new Set(['done']));
      expect(receivers.flatMap(({ faults }) => faults)).toEqual([]);
      for (const [url, at] of removed) expect(arrivalOf(url)).toBeLessThanOrEqual(at);
      report(start, configs);
    },
    LIMIT_MS,
  );
});

/** Deletes a config of each task while pushes are under way. Answers when each deletion had returned. */
async function removeSome(taskIds: readonly string[]): Promise<Map<string, number>> {
  const places = await query<Config>(`SELECT task_id, id, url FROM push_configs WHERE id = 'config-1'`);
  const removed = new Map<string, number>();
  for (const { task_id: taskId, id, url } of places.filter((place) => taskIds.includes(place.task_id))) {
    await rpc('DeleteTaskPushNotificationConfig', { taskId, id });
    removed.set(url, Date.now());
  }
  return removed;
}

const receiverOf = (url: string) => receivers.find((receiver) => url.startsWith(receiver.url))!;
const pathOf = (url: string) => new URL(url).pathname;
const takenOf = (url: string) => receiverOf(url).taken.get(pathOf(url));
const arrivalOf = (url: string) => receiverOf(url).arrivals.get(pathOf(url)) ?? 0;

function report(start: number, configs: readonly Config[]): void {
  if (!FULL) return;
  const seconds = (Date.now() - start) / 1000;
  const calls = receivers.reduce((sum, receiver) => sum + receiver.calls, 0);
  const taken = configs.reduce((sum, { url }) => sum + (takenOf(url)?.length ?? 0), 0);
  const events = configs.reduce((sum, { url }) => sum + firsts(takenOf(url)).length, 0);
  console.info(
    `push: ${events} events delivered to ${configs.length} configs in ${seconds.toFixed(0)} s; ` +
      `${calls} calls, ${taken - events} events twice, none lost, none out of order`,
  );
}
