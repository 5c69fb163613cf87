import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../support/house.js';
import { PushStopwatch } from '../support/push.stopwatch.js';
import { type RunningService, startService } from '../support/service.js';

/** `npm run verify -- push` measures and tells; `npm test` sees that everything arrives. */
const FULL = process.env.PARLEY_TEST_FULL === 'true';
const IDLE = FULL ? 300 : 10;
const WINDOW_MS = FULL ? 5_000 : 300;
const AT_ONCE = 16;
const BURST = FULL ? { tasks: 100, configs: 10, chunks: 50 } : { tasks: 4, configs: 3, chunks: 10 };
const LIMIT_MS = 120_000;
/** What is pushed of a task that echoes: the task, its artifact, its end. */
const PUSHES = 3;

let service: RunningService;
let stopwatch: PushStopwatch;
beforeAll(async () => {
  stopwatch = await PushStopwatch.listen();
  service = await startService({
    env: {
      // The embedded Postgres waits for the disk, which the cluster of the tests does not.
      ...(FULL && { PARLEY_DATABASE_URL: '' }),
      PARLEY_PUSH_SECRETS: `whsec_${Buffer.alloc(32, 1).toString('base64')}`,
      PARLEY_PUSH_KEYS: `test=${Buffer.alloc(32, 3).toString('base64')}`,
      PARLEY_PUSH_ALLOW: '127.0.0.1',
    },
  });
}, LIMIT_MS);
afterAll(async () => {
  await service?.stop();
  await stopwatch?.close();
});

async function rpc(method: string, params: object): Promise<{ task: { id: string } }> {
  const response = await fetch(`${service.httpUrl}/jsonrpc`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  const { result, error } = (await response.json()) as { result: never; error?: object };
  if (error) throw new Error(JSON.stringify(error));
  return result;
}

const send = (text: string, configuration: object = {}, more: object = {}) =>
  rpc('SendMessage', {
    message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...more },
    configuration,
  });
const hooked = () => ({ taskPushNotificationConfig: { url: stopwatch.url } });

/** Sends as fast as so many callers can. Answers how many tasks that were. */
async function sendMany(): Promise<number> {
  const end = performance.now() + WINDOW_MS;
  let tasks = 0;
  const caller = async () => {
    while (performance.now() < end) {
      await send('hello', hooked());
      tasks++;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, caller));
  return tasks;
}

const sorted = (values: readonly number[]) => values.toSorted((a, b) => a - b);
const quantile = (values: readonly number[], q: number) =>
  sorted(values)[Math.floor(q * (values.length - 1))] ?? 0;

const tell = (text: string) => {
  if (FULL) console.info(`push: ${text}`);
};
const latencies = (ages: readonly number[]) =>
  `p50 ${quantile(ages, 0.5).toFixed(1)} ms, p99 ${quantile(ages, 0.99).toFixed(1)} ms`;

describe('A fast receiver', () => {
  it(
    'hears at once of a task that runs alone',
    async () => {
      const ages: number[] = [];
      for (let n = 0; n < IDLE; n++) {
        stopwatch.reset();
        await send('hello', hooked());
        await until(() => stopwatch.count === PUSHES, LIMIT_MS);
        ages.push(...stopwatch.ages);
      }
      tell(`from an event to its POST, its commit included, idle: ${latencies(ages)} (goal: p99 50 ms)`);
      expect(quantile(ages, 0.5)).toBeLessThan(500);
    },
    LIMIT_MS,
  );

  it(
    'hears of all tasks of a busy service',
    async () => {
      stopwatch.reset();
      const tasks = await sendMany();
      await until(() => stopwatch.count >= tasks * PUSHES, LIMIT_MS);
      expect(stopwatch.count).toBe(tasks * PUSHES);
      tell(`from an event to its POST, under load: ${latencies(stopwatch.ages)}`);
    },
    LIMIT_MS,
  );

  it(
    'gets every event of a burst',
    async () => {
      const { tasks, configs, chunks } = BURST;
      const ids: string[] = [];
      for (let n = 0; n < tasks; n++) {
        const { task } = await send('ask go on?');
        ids.push(task.id);
        const add = () => rpc('CreateTaskPushNotificationConfig', { taskId: task.id, url: stopwatch.url });
        await Promise.all(Array.from({ length: configs }, add));
      }
      stopwatch.reset();
      await Promise.all(
        ids.map((taskId) => send(`chunks ${chunks}`, { returnImmediately: true }, { taskId })),
      );
      const expected = tasks * configs * (chunks + 2);
      await until(() => stopwatch.count >= expected, LIMIT_MS);
      tell(`${stopwatch.count} pushes at ${stopwatch.rate.toFixed(0)} a second (goal: 2000)`);
      expect(stopwatch.count).toBe(expected);
    },
    LIMIT_MS,
  );
});
