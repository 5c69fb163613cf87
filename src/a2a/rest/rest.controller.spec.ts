import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Bindings, startBindings } from '../../../test/support/bindings.js';
import { fakeAgent } from '../../../test/support/fake.agents.js';
import { HELLO } from '../../../test/support/fake.operations.js';
import { A2AError, HTTP_ROUTES, OPERATION_NAMES, TaskState } from '../../protocol/index.js';

let bindings: Bindings;
beforeAll(async () => {
  bindings = await startBindings({ agents: [fakeAgent(), fakeAgent({ id: 'acme' })] });
});
afterAll(() => bindings.app.close());
beforeEach(() => void bindings.operations.calls.splice(0));

interface Problem {
  readonly code: number;
  readonly status: string;
  readonly message: string;
  readonly details: { readonly reason?: string; readonly fieldViolations?: { field: string }[] }[];
}

interface Options {
  readonly body?: unknown;
  readonly type?: string;
  readonly headers?: Record<string, string>;
}

async function call(method: string, path: string, { body, type, headers }: Options = {}) {
  const content = body === undefined ? {} : { 'content-type': type ?? 'application/a2a+json' };
  const response = await fetch(bindings.url + path, {
    method,
    body: body === undefined || typeof body === 'string' ? body : JSON.stringify(body),
    headers: { 'a2a-version': '1.0', ...content, ...headers },
  } as RequestInit);
  const text = await response.text();
  const json = text.startsWith('{') ? JSON.parse(text) : {};
  return {
    status: response.status,
    headers: response.headers,
    text,
    json,
    error: json.error as Problem | undefined,
  };
}

/** A path of each route, and what the request must then hold. */
const filled = (template: string) =>
  template
    .replace('{tenant}', 'acme')
    .replace(/\{task_id=\*\}/, 'task-1')
    .replace(/\{id=\*\}/, 'id-1');
const BODIES: Record<string, unknown> = {
  sendMessage: HELLO,
  sendStreamingMessage: HELLO,
  cancelTask: {},
  createTaskPushNotificationConfig: { url: 'https://hook.example/x' },
};

describe('The HTTP+JSON binding', () => {
  it('serves every operation, plain and below a tenant', () => {
    const plain = HTTP_ROUTES.filter(({ template }) => !template.startsWith('/{tenant}'));
    const below = HTTP_ROUTES.filter(({ template }) => template.startsWith('/{tenant}'));
    expect(new Set(plain.map(({ operation }) => operation))).toEqual(new Set(OPERATION_NAMES));
    expect(below).toHaveLength(plain.length);
  });

  describe.each(['/rest', '/agents/acme/rest'])('at %s', (base) => {
    it.each(HTTP_ROUTES.map((route) => [`${route.method} ${route.template}`, route] as const))(
      'answers %s',
      async (_name, route) => {
        const answer = await call(route.method, base + filled(route.template), {
          body: BODIES[route.operation],
        });

        expect(answer.status).toBe(200);
        const streams = route.operation === 'sendStreamingMessage' || route.operation === 'subscribeToTask';
        expect(answer.headers.get('content-type')).toMatch(
          streams ? /^text\/event-stream/ : /^application\/a2a\+json/,
        );
        const { operation, request, call: context } = bindings.operations.last;
        expect(operation).toBe(route.operation);
        expect(context.agent).toBe(base === '/rest' && !route.template.includes('tenant') ? 'echo' : 'acme');
        if (route.pathFields.includes('taskId')) expect(request).toMatchObject({ taskId: 'task-1' });
        if (route.pathFields.includes('id')) expect(request).toMatchObject({ id: 'id-1' });
      },
    );
  });

  it('reads query parameters by their type and ignores unknown ones (S002-141)', async () => {
    const query = 'contextId=c-1&status=TASK_STATE_WORKING&pageSize=7&includeArtifacts=true&x=1';
    const after = 'statusTimestampAfter=2026-01-02T03:04:05.678Z';
    const answer = await call('GET', `/rest/tasks?${query}&${after}`);

    expect(answer.status).toBe(200);
    expect(bindings.operations.last.request).toMatchObject({
      contextId: 'c-1',
      status: TaskState.WORKING,
      pageSize: 7,
      includeArtifacts: true,
      statusTimestampAfter: { seconds: 1767323045n, nanos: 678_000_000 },
    });
    expect(answer.json.tasks[0].artifacts).toEqual([]);
    expect((await call('GET', '/rest/tasks')).json.tasks[0]).not.toHaveProperty('artifacts');
  });

  it.each(['pageSize=x', 'status=RUNNING', 'includeArtifacts=maybe', 'statusTimestampAfter=yesterday'])(
    'refuses the query %s',
    async (query) => {
      const { status, error } = await call('GET', `/rest/tasks?${query}`);
      expect(status).toBe(400);
      expect(error).toMatchObject({ code: 400, status: 'INVALID_ARGUMENT' });
      expect(JSON.stringify(error?.details)).toContain(query.split('=')[0]);
    },
  );

  it.each(['a/b', 'a:cancel', 'ä ?&#%', 'a..b', 'a:b', '%2e', '{id}'])(
    'keeps the id %j whole (S002-145)',
    async (id) => {
      await call('GET', `/rest/tasks/${encodeURIComponent(id)}`);
      expect(bindings.operations.last).toMatchObject({ operation: 'getTask', request: { id } });
    },
  );

  it('takes ids of 200 characters that need encoding', async () => {
    const id = '/'.repeat(200);
    expect((await call('GET', `/rest/tasks/${encodeURIComponent(id)}`)).status).toBe(200);
    expect(bindings.operations.last.request).toMatchObject({ id });
  });

  it('takes an encoded colon for part of the id, whatever word comes after it', async () => {
    for (const path of ['t1%3Asubscribe', 't1%3asubscribe', 't1%3Asubscribe?historyLength=1&x=:subscribe']) {
      await call('GET', `/rest/tasks/${path}`);
      expect(bindings.operations.last).toMatchObject({
        operation: 'getTask',
        request: { id: 't1:subscribe' },
      });
    }
    await call('POST', '/agents/echo/rest/tasks/t1%3Acancel:cancel', { body: {} });
    expect(bindings.operations.last).toMatchObject({ operation: 'cancelTask', request: { id: 't1:cancel' } });
    for (const path of ['/rest/tasks/t1%3Acancel', '/rest/v1/tasks/t1:cancel%3Acancel']) {
      expect((await call('POST', path, { body: {} })).status).toBe(405);
    }
  });

  it.each([
    ['GET', undefined],
    ['POST', undefined],
    ['POST', {}],
  ])('subscribes by %s with the body %j (B109)', async (method, body) => {
    for (const path of ['/rest/tasks/t1:subscribe', '/rest/acme/tasks/t1:subscribe']) {
      const answer = await call(method, path, { body });
      expect(answer.headers.get('content-type')).toBe('text/event-stream');
      expect(bindings.operations.last).toMatchObject({ operation: 'subscribeToTask', request: { id: 't1' } });
    }
  });

  it('takes the last event number for a subscription', async () => {
    await call('GET', '/rest/tasks/t1:subscribe', { headers: { 'last-event-id': '41' } });
    expect(bindings.operations.last.call.lastEventId).toBe(41);
  });

  describe('and tenants (B58)', () => {
    it.each([
      ['GET', '/rest/unknown', undefined, 404],
      ['GET', '/rest/', undefined, 404],
      ['GET', '/rest', undefined, 404],
      ['GET', '/rest/tasks/', undefined, 404],
      ['GET', '/rest/a/b/c/d/e', undefined, 404],
      ['GET', '/agents/acme/rest/unknown', undefined, 404],
      ['GET', '/rest/nobody/tasks', undefined, 404],
      ['GET', '/agents/nobody/rest/tasks', undefined, 404],
      ['POST', '/rest/acme/message:send', { ...HELLO, tenant: 'echo' }, 400],
      ['POST', '/agents/acme/rest/message:send', { ...HELLO, tenant: 'echo' }, 400],
      ['POST', '/agents/acme/rest/echo/message:send', HELLO, 400],
      ['POST', '/rest/tasks/message:send', HELLO, 404],
      ['POST', '/rest/message:send', { ...HELLO, tenant: 'nobody' }, 404],
    ])('%s %s with %j is %i', async (method, path, body, status) => {
      const answer = await call(method, path, { body });
      expect(answer.status).toBe(status);
      expect(answer.error).toMatchObject({
        code: status,
        status: status === 404 ? 'NOT_FOUND' : 'INVALID_ARGUMENT',
      });
      expect(bindings.operations.calls).toEqual([]);
    });

    it('routes by the tenant of path, body or query', async () => {
      await call('POST', '/rest/acme/tasks/X:cancel', { body: {} });
      await call('POST', '/rest/message:send', { body: { ...HELLO, tenant: 'acme' } });
      await call('GET', '/rest/tasks?tenant=acme');
      expect(bindings.operations.calls.map(({ call }) => call.agent)).toEqual(['acme', 'acme', 'acme']);
    });
  });

  it.each([
    ['PUT', '/rest/message:send', 'POST'],
    ['GET', '/rest/message:send', 'POST'],
    ['POST', '/rest/tasks/t1', 'GET'],
    ['HEAD', '/rest/tasks/t1', 'GET'],
    ['HEAD', '/rest/tasks/t1:subscribe', 'GET, POST'],
    ['PATCH', '/agents/acme/rest/acme/tasks/t1/pushNotificationConfigs', 'POST, GET'],
    ['GET', '/rest/tasks/t1:cancel', undefined],
  ])('answers %s %s by the methods that are there', async (method, path, allow) => {
    const { status, headers, error } = await call(method, path);
    if (allow === undefined) expect(status).toBe(200);
    else {
      expect(status).toBe(405);
      expect(headers.get('allow')).toBe(allow);
      if (method !== 'HEAD') expect(error).toMatchObject({ code: 405, status: 'UNIMPLEMENTED' });
    }
  });

  it.each([
    ['application/a2a+json', 200],
    ['application/json', 200],
    ['application/json; charset=utf-8', 200],
    ['application/a2a+json;charset=latin1', 200],
    ['text/plain', 400],
    ['application/xml', 400],
    ['nonsense', 400],
  ])('takes a body of type %s as it should (B111)', async (type, status) => {
    const { status: actual, error } = await call('POST', '/rest/message:send', { body: HELLO, type });
    expect(actual).toBe(status);
    if (status === 400) expect(error?.details[0]?.reason).toBe('CONTENT_TYPE_NOT_SUPPORTED');
  });

  it.each([
    ['no body', undefined],
    ['malformed JSON', '{"message":'],
    ['an array', '[]'],
    ['null', 'null'],
    ['a number', '5'],
    ['a wrong type', '{"message":5}'],
    ['no parts', '{"message":{"messageId":"m","role":"ROLE_USER","parts":[]}}'],
    ['an unknown role', '{"message":{"messageId":"m","role":"ROLE_KING","parts":[{"text":"a"}]}}'],
    ['a wrong version of the tenant', '{"tenant":{}}'],
  ])('answers %s with 400 and what is wrong', async (_name, body) => {
    const { status, error, headers } = await call('POST', '/rest/message:send', { body });
    expect(status).toBe(400);
    expect(headers.get('content-type')).toMatch(/^application\/a2a\+json/);
    expect(error).toMatchObject({ code: 400, status: 'INVALID_ARGUMENT', details: expect.any(Array) });
    expect(bindings.operations.calls).toEqual([]);
  });

  it('asks for the version on every route (B104)', async () => {
    for (const { method, template, operation } of HTTP_ROUTES) {
      const headers = { 'a2a-version': '' };
      const { status, error } = await call(method, `/rest${filled(template)}`, {
        body: BODIES[operation],
        headers,
      });
      expect(status).toBe(400);
      expect(error).toMatchObject({ status: 'FAILED_PRECONDITION' });
      expect(error?.details[0]?.reason).toBe('VERSION_NOT_SUPPORTED');
    }
    expect(
      (await call('GET', '/rest/tasks?A2A-Version=1.0', { headers: { 'a2a-version': '' } })).status,
    ).toBe(200);
  });

  it('gives errors as google.rpc.Status with ErrorInfo (B106)', async () => {
    const { status, error } = await call('GET', '/rest/tasks/unknown');
    expect(status).toBe(404);
    expect(error).toMatchObject({ code: 404, status: 'NOT_FOUND', message: expect.any(String) });
    expect(error?.details[0]).toMatchObject({
      '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
      reason: 'TASK_NOT_FOUND',
      domain: 'a2a-protocol.org',
    });
  });

  it('gives headers that belong to an error', async () => {
    const { getTask } = bindings.operations;
    bindings.operations.getTask = async () => {
      throw new A2AError('rateLimited', { retryAfter: 3 });
    };
    const { status, headers } = await call('GET', '/rest/tasks/t');
    bindings.operations.getTask = getTask;
    expect(status).toBe(429);
    expect(headers.get('retry-after')).toBe('3');
  });
});
