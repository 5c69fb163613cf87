import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Answer, BINDINGS, callAny } from '../support/any.binding.js';
import { message } from '../support/caller.matrix.js';
import { health } from '../support/grpc.services.js';
import { until } from '../support/house.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';
import { administer } from '../support/postgres.setup.js';
import { type RunningService, startService } from '../support/service.js';

let database: TestDatabase;
let service: RunningService;
beforeEach(async () => {
  database = await createDatabase();
  service = await startService({ database, env: { PARLEY_AGENTS: 'echo', PARLEY_LEASE_MS: '2000' } });
});
afterEach(async () => {
  await service.kill();
  await database.drop();
});

const name = () => new URL(database.url).pathname.slice(1);

/** Says so, then ends all sessions, as a server does that becomes a standby or a primary. */
async function readOnly(on: boolean): Promise<void> {
  const admin = Object.assign(new URL(database.url), { pathname: '/postgres' }).href;
  await administer(
    admin,
    `ALTER DATABASE ${name()} SET default_transaction_read_only = ${on ? 'on' : 'off'}`,
  );
  await administer(
    admin,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name()}'`,
  );
}

/** Every new event fails as it does where the file of the log cannot grow. */
async function full(on: boolean): Promise<void> {
  if (!on) return administer(database.url, 'DROP FUNCTION no_room CASCADE');
  await administer(
    database.url,
    `CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN RAISE 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$;
     CREATE TRIGGER no_room BEFORE INSERT ON task_events EXECUTE FUNCTION no_room()`,
  );
}

/** What the agent says to `chunks 40`. */
const CHUNKS = Array.from({ length: 40 }, (_, n) => `chunk ${n + 1}\n`).join('');

const call = (
  operation: 'sendMessage' | 'getTask',
  request: object,
  binding = BINDINGS[0]!,
): Promise<Answer> => callAny(service, { binding, operation, request: request as never });

const taskOf = ({ reply }: Answer) => {
  const { task = reply } = reply as { task?: unknown };
  return task as {
    id: string;
    status: { state: string };
    artifacts: { parts: { text: string }[] }[];
  };
};

async function ready(): Promise<[number, string]> {
  const response = await fetch(`${service.httpUrl}/health/ready`);
  return [response.status, ((await response.json()) as { status: string }).status];
}

describe('A replica whose database takes no writes', () => {
  it.each([
    ['is a standby (25006)', readOnly],
    ['has a full disk (53100)', full],
  ])('because it %s says so, loses nothing, and is back by itself', async (_why, refuse) => {
    const request = { ...message('chunks 40 50'), configuration: { returnImmediately: true } };
    const { id } = taskOf(await call('sendMessage', request));
    await refuse(true);

    for (const binding of BINDINGS) {
      const answer = await call('sendMessage', message('hello'), binding);
      expect(answer).toMatchObject({
        reason: 'UNAVAILABLE',
        status: binding === 'GRPC' ? 14 : expect.any(Number),
      });
    }
    const refused = await fetch(`${service.httpUrl}/rest/message:send`, {
      method: 'POST',
      headers: { 'a2a-version': '1.0', 'content-type': 'application/json' },
      body: JSON.stringify(message('hello')),
    });
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await ready()).toEqual([503, 'database takes no writes']);
    await until(async () => (await health(service.grpcAddress)) === 'NOT_SERVING');
    expect(taskOf(await call('getTask', { id })).id).toBe(id);
    expect((await fetch(`${service.httpUrl}/health/live`)).status).toBe(200);

    await refuse(false);
    await until(async () => (await ready())[0] === 200);
    await until(async () => (await health(service.grpcAddress)) === 'SERVING');
    const isOver = async () => taskOf(await call('getTask', { id })).status.state === 'TASK_STATE_COMPLETED';
    await until(isOver);
    const { artifacts } = taskOf(await call('getTask', { id }));
    expect(artifacts[0]!.parts.map(({ text }) => text).join('')).toBe(CHUNKS);
    expect(taskOf(await call('sendMessage', message('hello'))).status.state).toBe('TASK_STATE_COMPLETED');
  });
});
