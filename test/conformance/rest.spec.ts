import { describe, expect, it } from 'vitest';
import { OPERATION_NAMES } from '../../src/protocol/index.js';
import { ROUTES } from './clients/index.js';
import { ServiceStage } from './stage.js';
import { says, send, type TaskJson } from './task.calls.js';

const stage = new ServiceStage();
const TYPE = 'application/a2a+json';

interface Sent {
  readonly method?: string;
  readonly body?: object | string;
  readonly headers?: Record<string, string>;
}

function ask(path: string, { method = 'GET', body, headers = {} }: Sent = {}): Promise<Response> {
  return fetch(stage.httpUrl + path, {
    method,
    headers: { 'a2a-version': '1.0', ...(body === undefined ? {} : { 'content-type': TYPE }), ...headers },
    body: typeof body === 'object' ? JSON.stringify(body) : body,
  });
}

const post = (path: string, body: object | string, headers?: Record<string, string>) =>
  ask(path, { method: 'POST', body, headers });

interface Fault {
  readonly error: { code: number; status: string; message: string; details: Record<string, unknown>[] };
}

const faultOf = async (response: Response) => ((await response.json()) as Fault).error;
const hello = (tenant = {}) => ({ message: says('hello'), ...tenant });

describe('HTTP+JSON', () => {
  it.each(OPERATION_NAMES)('has the route of %s, plain and below a tenant (S002-140)', async (operation) => {
    const [method, template] = ROUTES[operation].split(' ') as [string, string];
    const path = template.replace(/\{\w+\}/g, 'unknown');
    for (const base of ['/rest', '/rest/conformance', '/agents/echo/rest', '/agents/echo/rest/echo']) {
      const response = await ask(base + path, { method, body: method === 'POST' ? {} : undefined });
      const reason = response.ok
        ? ''
        : (await faultOf(response)).details.find((detail) => 'reason' in detail)?.reason;
      expect(['NOT_FOUND', 'METHOD_NOT_ALLOWED', 'METHOD_NOT_FOUND']).not.toContain(reason);
    }
  });

  it('answers an unknown path with 404 and a wrong verb with 405, in its own form (B58)', async () => {
    expect((await faultOf(await ask('/rest/unknown'))).code).toBe(404);
    expect((await faultOf(await ask('/rest/a/b/c/d'))).code).toBe(404);
    const wrong = await ask('/rest/message:send');
    expect(wrong.headers.get('allow')).toBe('POST');
    expect((await faultOf(wrong)).code).toBe(405);
  });

  it('reads the query by the types of its fields (S002-141)', async () => {
    const [, client] = stage.clients();
    const { contextId } = await send(client!, 'hello');
    const query = `contextId=${contextId}&status=TASK_STATE_COMPLETED&pageSize=7&includeArtifacts=true&historyLength=0&statusTimestampAfter=2020-01-01T00:00:00Z&unknown=1`;
    const page = (await (await ask(`/rest/tasks?${query}`)).json()) as {
      tasks: TaskJson[];
      pageSize: number;
    };
    expect(page.pageSize).toBe(7);
    expect(page.tasks).toHaveLength(1);
    expect(page.tasks[0]).toHaveProperty('artifacts');
    expect(page.tasks[0]).not.toHaveProperty('history');
    const snake = (await (await ask(`/rest/tasks?context_id=${contextId}&status=3`)).json()) as typeof page;
    expect(snake.tasks).toHaveLength(1);
  });

  it.each([TYPE, 'application/json', `${TYPE}; charset=utf-8`, 'Application/JSON;charset=UTF-8'])(
    'takes a body of type %s and answers in its own (S002-142, B111)',
    async (type) => {
      const response = await post('/rest/message:send', hello(), { 'content-type': type });
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toContain(TYPE);
    },
  );
  it.each(['text/plain', 'application/xml', 'multipart/form-data; boundary=x', 'application/jsonp'])(
    'takes no body of type %s (S002-142, B111)',
    async (type) => {
      const response = await post('/rest/message:send', hello(), { 'content-type': type });
      expect(response.status).toBe(400);
      expect(response.headers.get('content-type')).toContain(TYPE);
      const { details } = await faultOf(response);
      expect(details[0]).toMatchObject({ reason: 'CONTENT_TYPE_NOT_SUPPORTED' });
    },
  );

  it('gives errors as google.rpc.Status with ErrorInfo (S002-143, B106)', async () => {
    const response = await ask('/rest/tasks/unknown');
    expect(response.status).toBe(404);
    expect(response.headers.get('content-type')).toContain(TYPE);
    expect(await response.json()).toEqual({
      error: {
        code: 404,
        status: 'NOT_FOUND',
        message: 'There is no such task',
        details: [
          {
            '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
            reason: 'TASK_NOT_FOUND',
            domain: 'a2a-protocol.org',
            metadata: { taskId: 'unknown' },
          },
        ],
      },
    });
  });
  it.each([
    ['a task that has ended is not cancelled', 400, 'FAILED_PRECONDITION', 'hello', ':cancel'],
    ['a task that has ended is not followed', 400, 'FAILED_PRECONDITION', 'hello', ':subscribe'],
  ])('answers with the status of the table: %s (S002-143)', async (_title, status, name, text, verb) => {
    const [, client] = stage.clients();
    const { id } = await send(client!, text);
    const response = await ask(`/rest/tasks/${id}${verb}`, { method: 'POST' });
    expect(response.status).toBe(status);
    expect((await faultOf(response)).status).toBe(name);
  });
  it('answers 500 for an agent that gives no valid answer (S002-143)', async () => {
    const response = await post('/rest/message:send', { message: says('silent') });
    expect(response.status).toBe(500);
    expect((await faultOf(response)).details[0]).toMatchObject({ reason: 'INVALID_AGENT_RESPONSE' });
  });

  it.each(['a/b', 'x:cancel', 'ä ?&#%', '%2e%2e', 'a:b:c', '{id}'])(
    'keeps the task id %j whole (S002-145)',
    async (id) => {
      const path = `/rest/tasks/${encodeURIComponent(id)}`;
      for (const [given, method] of [
        [path, 'GET'],
        [`${path}:cancel`, 'POST'],
      ] as const) {
        const { details, code } = await faultOf(await ask(given, { method }));
        expect(code).toBe(404);
        expect(details[0]).toMatchObject({ reason: 'TASK_NOT_FOUND', metadata: { taskId: id } });
      }
    },
  );

  it('takes no body for an empty one, where every field may be missing', async () => {
    const [, client] = stage.clients();
    const { id } = await send(client!, 'ask');
    const response = await ask(`/rest/tasks/${id}:cancel`, { method: 'POST' });
    expect(response.status).toBe(200);
    expect(await response.json()).toHaveProperty('status.state', 'TASK_STATE_CANCELED');
  });

  it.each([
    ['/rest/echo/message:send', { tenant: 'deployer' }, 'INVALID_PARAMS'],
    ['/agents/echo/rest/message:send', { tenant: 'deployer' }, 'INVALID_PARAMS'],
    ['/agents/echo/rest/deployer/message:send', {}, 'INVALID_PARAMS'],
    ['/rest/nobody/message:send', {}, 'NOT_FOUND'],
    ['/agents/nobody/rest/message:send', {}, 'NOT_FOUND'],
  ])('takes no two agents for one: %s with %j (B58)', async (path, tenant, reason) => {
    const { details } = await faultOf(await post(path, hello(tenant)));
    expect(details[0]).toMatchObject({ reason });
  });

  it.each(['/rest/echo/message:send', '/agents/echo/rest/echo/message:send'])(
    'takes the same agent twice: %s (S002-140, B58)',
    async (path) => {
      expect((await post(path, hello({ tenant: 'echo' }))).status).toBe(200);
    },
  );
});
