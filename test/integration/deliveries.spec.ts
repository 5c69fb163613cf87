import { randomUUID } from 'node:crypto';
import { Module } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AnonymousAuthenticator, AuditLog, Authenticator } from '../../src/auth/index.js';
import { Config } from '../../src/config/index.js';
import { Postgres } from '../../src/database/index.js';
import { DeliveryController, ReceiverController } from '../../src/operator/delivery.controller.js';
import { PushStore } from '../../src/push/index.js';
import { PostgresPushStore } from '../../src/push/postgres-push.store.js';
import { testConfig } from '../support/config.js';
import { FakeAudit } from '../support/fake.audit.js';
import { listen } from '../support/http.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';

const authorization = 'Bearer correct-horse';
const TASKS = [randomUUID(), randomUUID()];

let database: TestDatabase;
let postgres: Postgres;
let app: NestFastifyApplication;
const audit = new FakeAudit();

beforeAll(async () => {
  database = await createDatabase();
  const config = testConfig({ PARLEY_DATABASE_URL: database.url, PARLEY_OPERATOR_TOKEN: 'correct-horse' });
  postgres = new Postgres(config);
  @Module({
    controllers: [DeliveryController, ReceiverController],
    providers: [
      { provide: Authenticator, useValue: new AnonymousAuthenticator() },
      { provide: AuditLog, useValue: audit },
      { provide: Config, useValue: config },
      { provide: PushStore, useValue: new PostgresPushStore(postgres, 1_000) },
    ],
  })
  class OperatorUnderTest {}
  app = await listen(OperatorUnderTest, config);
  for (const id of TASKS) await makeTask(id);
});
afterAll(async () => {
  await app.close();
  await postgres.onApplicationShutdown();
  await database.drop();
});

/** A task of five events with two dead configs at 'a.example' and a waiting one at 'b.example'. */
async function makeTask(id: string): Promise<void> {
  await postgres.query({
    text: `INSERT INTO tasks (id, organisation, owner, agent, context_id, state, status_at, version, inbox_seq, lease_token)
      VALUES ($1, '', 'alice', 'echo', 'c', 3, now(), 5, 1, 1)`,
    values: [id],
  });
  await postgres.query({
    text: `INSERT INTO push_configs (task_id, id, url, host, version, cursor, state, tries, last_status, secret)
      VALUES ($1, 'one', 'https://a.example/x', 'a.example', '1.0', 2, 'dead', 8, 500, 'k.sealed'),
        ($1, 'two', 'https://a.example/y', 'a.example', '1.0', 5, 'done', 0, 200, NULL),
        ($1, 'three', 'https://b.example/', 'b.example', '1.0', 1, 'open', 1, NULL, NULL)`,
    values: [id],
  });
}

async function request(method: string, path: string, body?: object) {
  const headers = { authorization, ...(body && { 'content-type': 'application/json' }) };
  const response = await fetch(`${await app.getUrl()}/operator${path}`, {
    method,
    headers,
    body: body && JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, json: text ? JSON.parse(text) : undefined, text };
}

const states = async (query: string) => {
  const { json } = await request('GET', `/deliveries?${query}`);
  return (json.deliveries as { configId: string; state: string }[]).map(
    (row) => `${row.configId} ${row.state}`,
  );
};

describe("the operators' view of push", () => {
  it('shows deliveries by task, state, host and agent, and no secret', async () => {
    const { json, text } = await request('GET', `/deliveries?task=${TASKS[0]}&state=dead`);
    expect(json.deliveries).toEqual([
      expect.objectContaining({
        taskId: TASKS[0],
        configId: 'one',
        agent: 'echo',
        tries: 8,
        lastStatus: 500,
        cursor: 2,
        version: 5,
      }),
    ]);
    expect(text).not.toContain('sealed');
    expect(await states(`host=b.example&task=${TASKS[1]}`)).toEqual(['three open']);
    expect(await states('agent=other')).toEqual([]);
  });

  it('shows them in pages', async () => {
    const seen: string[] = [];
    let token = '';
    do {
      const { json } = await request('GET', `/deliveries?pageSize=4${token && `&pageToken=${token}`}`);
      seen.push(
        ...json.deliveries.map((row: { taskId: string; configId: string }) => row.taskId + row.configId),
      );
      token = json.nextPageToken;
    } while (token);
    expect(seen).toHaveLength(6);
    expect(seen).toEqual([...seen].sort().reverse());
  });

  it('sends again what a task did not get, or all after an event', async () => {
    const again = (body: object) => request('POST', '/deliveries/redeliver', body);
    expect((await again({ taskId: TASKS[0], configId: 'one' })).json).toEqual({ redelivered: 1 });
    expect(await states(`task=${TASKS[0]}&state=open`)).toHaveLength(2);
    expect((await again({ taskId: TASKS[0], configId: 'two' })).json).toEqual({ redelivered: 0 });
    expect((await again({ taskId: TASKS[0], configId: 'two', after: 3 })).json).toEqual({ redelivered: 1 });
    expect(
      (await request('GET', `/deliveries?task=${TASKS[0]}`)).json.deliveries
        .map((row: { cursor: number }) => row.cursor)
        .sort(),
    ).toEqual([1, 2, 3]);
  });

  it('sends again all that is dead at a host, which the audit log keeps', async () => {
    expect((await request('POST', '/deliveries/redeliver', { host: 'a.example' })).json).toEqual({
      redelivered: 1,
    });
    expect(await states('state=dead')).toEqual([]);
    expect(audit.records.at(-1)).toMatchObject({
      act: 'push.redelivered',
      principal: { subject: 'operator' },
      host: 'a.example',
    });
  });

  it('pauses a host and lets it go on, which the audit log keeps', async () => {
    expect((await request('POST', '/receivers/a.example:8443/pause')).status).toBe(204);
    expect((await request('GET', '/receivers/paused')).json.paused).toEqual(['a.example:8443']);
    expect((await request('POST', '/receivers/a.example:8443/resume')).status).toBe(204);
    expect((await request('GET', '/receivers/paused')).json.paused).toEqual([]);
    const records = audit.records.slice(-2).map(({ act, host }) => [act, host]);
    expect(records).toEqual([
      ['push.paused', 'a.example:8443'],
      ['push.resumed', 'a.example:8443'],
    ]);
  });

  it('shows the hosts that keep failing', async () => {
    const store = new PostgresPushStore(postgres, 1_000);
    const shown = async () => (await request('GET', '/receivers/paused')).json;
    await store.trip('b.example', 20, false);
    await store.trip('b.example', 20, true);
    const { paused, failing } = await shown();
    expect(paused).toEqual([]);
    expect(failing).toEqual([{ host: 'b.example', failures: 21, probeInMs: expect.any(Number) }]);
    expect(failing[0].probeInMs).toBeGreaterThan(8_000);
    await request('POST', '/receivers/b.example/pause');
    await store.recover('b.example');
    expect(await shown()).toEqual({ paused: ['b.example'], failing: [] });
    await request('POST', '/receivers/b.example/resume');
  });

  it('refuses what it does not understand, and who is no operator', async () => {
    for (const path of [
      '/deliveries?state=lost',
      '/deliveries?task=x',
      '/deliveries?pageSize=0',
      '/deliveries?pageToken=x',
      '/deliveries?what=1',
      '/deliveries?agent=%00',
      '/deliveries?host=%00',
    ]) {
      expect((await request('GET', path)).status).toBe(400);
    }
    expect((await request('POST', '/deliveries/redeliver', {})).status).toBe(400);
    expect(
      (await request('POST', '/deliveries/redeliver', { taskId: TASKS[0], configId: '\0' })).status,
    ).toBe(400);
    expect((await request('POST', '/receivers/a%00b/pause')).status).toBe(400);
    expect((await fetch(`${await app.getUrl()}/operator/deliveries`)).status).toBe(401);
  });
});
