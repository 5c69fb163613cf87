import { create } from '@bufbuild/protobuf';
import { Module } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { testConfig } from '../../test/support/config.js';
import { FakeAudit } from '../../test/support/fake.audit.js';
import { listen } from '../../test/support/http.js';
import type { Approval } from '../agents/index.js';
import { AnonymousAuthenticator, AuditLog, Authenticator } from '../auth/index.js';
import { Config } from '../config/index.js';
import { Approvals, type OperatorAnswer } from '../messaging/index.js';
import { A2AError, type Task, TaskSchema, TaskState } from '../protocol/index.js';
import { type WaitingQuery, WaitingStore, type WaitingTask } from '../tasks/index.js';
import { ApprovalController } from './approval.controller.js';
import { ApprovalStream } from './approval.stream.js';
import { OperatorGuard } from './operator.guard.js';

const TOKEN = 'correct-horse';
const given: { taskId: string; approval: Approval; since?: number }[] = [];

const audit = new FakeAudit();
const answers: unknown[] = [];
const asked: WaitingQuery[] = [];

/** Three tasks wait, one second after another. */
class ThreeWaiting extends WaitingStore {
  async waiting(query: WaitingQuery): Promise<WaitingTask[]> {
    asked.push(query);
    const all = [1, 2, 3].map((n) => ({
      task: create(TaskSchema, { id: `00000000-0000-4000-8000-00000000000${n}` }),
      version: 1,
      size: 0,
      scope: { agent: 'echo', organisation: 'acme', owner: 'ann' },
      since: n * 1000,
    }));
    return all.filter(({ since }) => since > (query.after?.since ?? 0)).slice(0, query.limit);
  }
}

class RecordingApprovals extends Approvals {
  async resolve(taskId: string, approval: Approval, since?: number): Promise<Task> {
    if (taskId === 'unknown') throw new A2AError('taskNotFound');
    if (taskId === 'broken') throw new Error('password=x');
    given.push({ taskId, approval, ...(since !== undefined && { since }) });
    return create(TaskSchema, { id: taskId, status: { state: TaskState.WORKING } });
  }

  async answer(taskId: string, answer: OperatorAnswer, since?: number): Promise<Task> {
    answers.push([taskId, answer, since]);
    return create(TaskSchema, { id: taskId, status: { state: TaskState.WORKING } });
  }
}

async function start(env: Record<string, string>): Promise<NestFastifyApplication> {
  const config = testConfig(env);
  @Module({
    controllers: [ApprovalController],
    providers: [
      OperatorGuard,
      { provide: Authenticator, useValue: new AnonymousAuthenticator() },
      { provide: AuditLog, useValue: audit },
      { provide: Approvals, useClass: RecordingApprovals },
      { provide: WaitingStore, useClass: ThreeWaiting },
      { provide: ApprovalStream, useValue: {} },
      { provide: Config, useValue: config },
    ],
  })
  class OperatorUnderTest {}
  return listen(OperatorUnderTest, config);
}

let app: NestFastifyApplication;
beforeAll(async () => {
  app = await start({ PARLEY_OPERATOR_TOKEN: TOKEN });
});
afterAll(() => app.close());
beforeEach(() => void given.splice(0));

interface Call {
  readonly taskId?: string;
  readonly authorization?: string;
  readonly body?: string;
}

async function post({ taskId = 't1', authorization = `Bearer ${TOKEN}`, body }: Call, to = app) {
  const headers: Record<string, string> = { authorization };
  if (body !== undefined) headers['content-type'] = 'application/json';
  const response = await fetch(`${await to.getUrl()}/operator/approvals/${taskId}`, {
    method: 'POST',
    headers,
    body,
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

describe("An operator's approval", () => {
  it('needs no body to approve, and shows the task', async () => {
    const { status, text } = await post({});

    expect(status).toBe(200);
    expect(JSON.parse(text)).toMatchObject({ id: 't1', status: { state: 'TASK_STATE_WORKING' } });
    expect(given).toEqual([{ taskId: 't1', approval: { approved: true, by: 'operator' } }]);
  });

  it('can refuse, and say who and why', async () => {
    await post({ body: JSON.stringify({ approved: false, by: 'ann', reason: 'frozen' }) });

    expect(given[0]?.approval).toEqual({ approved: false, by: 'ann', reason: 'frozen' });
  });

  it('answers a task that waits for input', async () => {
    await post({ body: JSON.stringify({ answer: 'main', by: 'ann' }) });

    expect(answers).toEqual([['t1', { text: 'main', by: 'ann' }, undefined]]);
    expect(given).toEqual([]);
  });

  it('stands in the audit log with who and why', async () => {
    await post({ body: JSON.stringify({ approved: false, by: 'ann', reason: 'frozen' }) });

    expect(audit.records.at(-1)).toEqual({
      act: 'approval',
      principal: { organisation: '', subject: 'ann' },
      taskId: 't1',
      reason: 'refused',
      why: 'frozen',
    });
  });

  it('may be for one wait alone', async () => {
    await post({ body: JSON.stringify({ since: '1970-01-01T00:00:02Z' }) });

    expect(given[0]?.since).toBe(2_000);
  });

  it.each([
    ['{"since":"yesterday"}', 'since'],
    ['{"approved":"yes"}', 'approved'],
    ['{"by":1}', 'by'],
    ['{"reason":"a\\u0000b"}', 'reason'],
    ['{"aproved":false}', 'aproved'],
    ['[]', ''],
    ['nonsense', ''],
  ])('with the body %s is refused and approves nothing', async (body, field) => {
    const { status, text } = await post({ body });

    expect(status).toBe(400);
    expect(text).toContain(field);
    expect(given).toEqual([]);
  });

  it.each(['unknown', 'a%00b'])('of the task %s finds none', async (taskId) => {
    expect((await post({ taskId })).status).toBe(404);
  });

  it.each(['', 'Bearer', 'Bearer wrong', `Basic ${TOKEN}`, `Bearer ${TOKEN}x`, TOKEN])(
    'with the credential "%s" is refused before the task is looked at',
    async (authorization) => {
      const { status, headers } = await post({ authorization });

      expect(status).toBe(401);
      expect(headers.get('www-authenticate')).toContain('Bearer');
      expect(given).toEqual([]);
    },
  );

  it('that fails inside tells the operator nothing of the inside (B107)', async () => {
    const { status, text } = await post({ taskId: 'broken' });

    expect(status).toBe(500);
    expect(text).not.toContain('password');
  });

  it('is not there at all when no operator token is configured', async () => {
    const closed = await start({});
    try {
      expect((await post({}, closed)).status).toBe(404);
      expect((await post({ authorization: 'Bearer ' }, closed)).status).toBe(404);
      expect((await post({ authorization: 'Bearer undefined' }, closed)).status).toBe(404);
    } finally {
      await closed.close();
    }
  });
});

describe('The list of waiting tasks', () => {
  const get = async (query: string, authorization = `Bearer ${TOKEN}`) => {
    const response = await fetch(`${await app.getUrl()}/operator/approvals?${query}`, {
      headers: { authorization },
    });
    return {
      status: response.status,
      body: (await response.json()) as { waiting: { since: string }[]; nextPageToken: string },
    };
  };

  it('comes in pages, who waited longest first, with agent and caller', async () => {
    const first = await get('pageSize=2&agent=echo&state=TASK_STATE_AUTH_REQUIRED');
    const second = await get(`pageSize=2&pageToken=${first.body.nextPageToken}`);

    expect(asked.at(-2)).toMatchObject({ agent: 'echo', state: TaskState.AUTH_REQUIRED, limit: 3 });
    expect(first.body.waiting).toHaveLength(2);
    expect(first.body.waiting[0]).toMatchObject({ agent: 'echo', organisation: 'acme', caller: 'ann' });
    expect(second.body.waiting.map(({ since }) => since)).toEqual(['1970-01-01T00:00:03.000Z']);
    expect(second.body.nextPageToken).toBe('');
  });

  it.each(['pageSize=0', 'pageToken=nonsense', 'state=TASK_STATE_WORKING', 'agnt=echo'])(
    'refuses %s',
    async (query) => {
      expect((await get(query)).status).toBe(400);
    },
  );

  it('is for operators alone', async () => {
    expect((await get('', 'Bearer wrong')).status).toBe(401);
  });
});
