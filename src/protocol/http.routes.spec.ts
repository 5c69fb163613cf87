import type { JsonValue } from '@bufbuild/protobuf';
import Fastify, { type FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  A2AError,
  encodeMessage,
  HTTP_ROUTES,
  type HttpMethod,
  OPERATIONS,
  type OperationName,
  requestFromHttp,
} from './index.js';

describe('HTTP_ROUTES', () => {
  it('has the routes of the specification, each also under a tenant', () => {
    const plain = HTTP_ROUTES.filter((route) => !route.pathFields.includes('tenant'));
    expect(plain.map(({ operation, method, template }) => `${operation} ${method} ${template}`)).toEqual([
      'sendMessage POST /message:send',
      'sendStreamingMessage POST /message:stream',
      'getTask GET /tasks/{id=*}',
      'listTasks GET /tasks',
      'cancelTask POST /tasks/{id=*}:cancel',
      'subscribeToTask GET /tasks/{id=*}:subscribe',
      'subscribeToTask POST /tasks/{id=*}:subscribe',
      'createTaskPushNotificationConfig POST /tasks/{task_id=*}/pushNotificationConfigs',
      'getTaskPushNotificationConfig GET /tasks/{task_id=*}/pushNotificationConfigs/{id=*}',
      'listTaskPushNotificationConfigs GET /tasks/{task_id=*}/pushNotificationConfigs',
      'getExtendedAgentCard GET /extendedAgentCard',
      'deleteTaskPushNotificationConfig DELETE /tasks/{task_id=*}/pushNotificationConfigs/{id=*}',
    ]);
    const tenanted = HTTP_ROUTES.filter((route) => route.pathFields.includes('tenant'));
    expect(tenanted.map(({ template }) => template)).toEqual(
      plain.map(({ template }) => `/{tenant}${template}`),
    );
  });
});

describe('the routes in Fastify', () => {
  let app: FastifyInstance;
  beforeAll(async () => {
    app = Fastify();
    for (const route of HTTP_ROUTES) {
      app.route({
        method: route.method,
        url: route.fastifyPath,
        handler: (request) => ({ to: route.operation, ...(request.params as object) }),
      });
    }
    await app.ready();
  });
  afterAll(() => app.close());

  it.each<[HttpMethod, string, Record<string, string>]>([
    ['POST', '/message:send', { to: 'sendMessage' }],
    ['POST', '/echo/message:stream', { to: 'sendStreamingMessage', tenant: 'echo' }],
    ['GET', '/tasks', { to: 'listTasks' }],
    ['GET', '/echo/tasks', { to: 'listTasks', tenant: 'echo' }],
    ['GET', '/tasks/t1', { to: 'getTask', id: 't1' }],
    ['GET', '/echo/tasks/t1', { to: 'getTask', tenant: 'echo', id: 't1' }],
    ['GET', '/tasks/a%2Fb%20c', { to: 'getTask', id: 'a/b c' }],
    ['POST', '/tasks/t1:cancel', { to: 'cancelTask', id: 't1' }],
    ['POST', '/tasks/a:b:cancel', { to: 'cancelTask', id: 'a:b' }],
    ['GET', '/tasks/t1:subscribe', { to: 'subscribeToTask', id: 't1' }],
    ['POST', '/echo/tasks/t1:subscribe', { to: 'subscribeToTask', tenant: 'echo', id: 't1' }],
    ['POST', '/tasks/t1/pushNotificationConfigs', { to: 'createTaskPushNotificationConfig', taskId: 't1' }],
    ['GET', '/tasks/t1/pushNotificationConfigs', { to: 'listTaskPushNotificationConfigs', taskId: 't1' }],
    [
      'GET',
      '/tasks/t1/pushNotificationConfigs/c',
      { to: 'getTaskPushNotificationConfig', taskId: 't1', id: 'c' },
    ],
    [
      'DELETE',
      '/echo/tasks/t1/pushNotificationConfigs/c',
      { to: 'deleteTaskPushNotificationConfig', tenant: 'echo', taskId: 't1', id: 'c' },
    ],
    ['GET', '/extendedAgentCard', { to: 'getExtendedAgentCard' }],
    ['GET', '/echo/extendedAgentCard', { to: 'getExtendedAgentCard', tenant: 'echo' }],
  ])('lead %s %s to its operation', async (method, url, found) => {
    const response = await app.inject({ method: method as 'GET', url });
    expect(response.json()).toEqual(found);
  });

  it.each([
    ['GET', '/message:send'],
    ['POST', '/message'],
    ['PUT', '/tasks/t1'],
    ['POST', '/tasks/t1:pause'],
  ])('have nothing for %s %s', async (method, url) => {
    expect((await app.inject({ method: method as 'GET', url })).statusCode).toBe(404);
  });
});

interface Call {
  params?: Record<string, string>;
  query?: Record<string, string | string[]>;
  body?: JsonValue;
}

function requestOf(operation: OperationName, { params = {}, query = {}, body }: Call): JsonValue {
  const fields = Object.keys(params).sort().join();
  const route = HTTP_ROUTES.find(
    (one) => one.operation === operation && [...one.pathFields].sort().join() === fields,
  )!;
  return encodeMessage(OPERATIONS[operation].input, requestFromHttp(route, { params, query, body }));
}

function fieldRefused(operation: OperationName, call: Call): string | undefined {
  try {
    requestOf(operation, call);
  } catch (error) {
    if (error instanceof A2AError && error.kind === 'invalidParams') return error.violations[0]?.field;
    throw error;
  }
  return undefined;
}

describe('requestFromHttp', () => {
  it('builds a request from path and query, whatever the names are written like', () => {
    const written = {
      contextId: 'c',
      status: 'TASK_STATE_WORKING',
      pageSize: 10,
      historyLength: 0,
      includeArtifacts: false,
    };
    const camel = {
      contextId: 'c',
      status: 'TASK_STATE_WORKING',
      pageSize: '10',
      historyLength: '0',
      includeArtifacts: 'false',
      tracking: 'x',
    };
    const snake = {
      context_id: 'c',
      status: '2',
      page_size: '10',
      history_length: '0',
      include_artifacts: 'false',
    };
    expect(requestOf('listTasks', { query: camel })).toEqual(written);
    expect(requestOf('listTasks', { query: snake, params: { tenant: 'echo' } })).toEqual({
      tenant: 'echo',
      ...written,
    });
    expect(requestOf('getTask', { params: { id: 't' }, query: { historyLength: '3' } })).toEqual({
      id: 't',
      historyLength: 3,
    });
  });

  it('reads times in the query, also with an offset whose plus was not escaped', () => {
    const timeOf = (statusTimestampAfter: string) =>
      requestOf('listTasks', { query: { statusTimestampAfter } });
    expect(timeOf('2026-01-02T03:04:05.678Z')).toEqual({ statusTimestampAfter: '2026-01-02T03:04:05.678Z' });
    expect(timeOf('2026-01-02T03:04:05 02:00')).toEqual({ statusTimestampAfter: '2026-01-02T01:04:05.000Z' });
  });

  it('takes empty parameters for unset', () => {
    const query = { status: '', pageSize: '', includeArtifacts: '', statusTimestampAfter: '', pageToken: '' };
    expect(requestOf('listTasks', { query })).toEqual({});
  });

  it.each<[string, Call]>([
    ['status', { query: { status: 'RUNNING' } }],
    ['pageSize', { query: { pageSize: 'ten' } }],
    ['pageSize', { query: { page_size: '1.5' } }],
    ['pageSize', { query: { pageSize: ['1', '2'] } }],
    ['includeArtifacts', { query: { includeArtifacts: 'yes' } }],
    ['statusTimestampAfter', { query: { statusTimestampAfter: 'yesterday' } }],
  ])('names the parameter %s when it does not fit', (field, call) => {
    expect(fieldRefused('listTasks', call)).toBe(field);
  });

  it('reads an empty body as a request without fields', () => {
    expect(requestOf('cancelTask', { params: { id: 't' } })).toEqual({ id: 't' });
    expect(requestOf('subscribeToTask', { params: { tenant: 'echo', id: 't' } })).toEqual({
      tenant: 'echo',
      id: 't',
    });
  });

  it('ignores the query where the body is the request', () => {
    expect(
      requestOf('cancelTask', { params: { id: 't' }, query: { tenant: 'x' }, body: { metadata: { a: 1 } } }),
    ).toEqual({ id: 't', metadata: { a: 1 } });
  });

  it.each<[OperationName, Call]>([
    [
      'createTaskPushNotificationConfig',
      { params: { taskId: 't' }, body: { taskId: 'u', url: 'https://x' } },
    ],
    [
      'createTaskPushNotificationConfig',
      { params: { taskId: 't' }, body: { task_id: 'u', url: 'https://x' } },
    ],
  ])('refuses %s with another task in the body than in the path', (operation, call) => {
    expect(fieldRefused(operation, call)).toBe('taskId');
  });

  it('refuses another tenant in body or query than in the path, and takes the same', () => {
    const params = { tenant: 'echo' };
    expect(fieldRefused('sendMessage', { params, body: { tenant: 'deployer' } })).toBe('tenant');
    expect(fieldRefused('listTasks', { params, query: { tenant: 'deployer' } })).toBe('tenant');
    expect(requestOf('sendMessage', { params, body: { tenant: 'echo' } })).toEqual({ tenant: 'echo' });
    expect(requestOf('sendMessage', { body: { tenant: 'deployer' } })).toEqual({ tenant: 'deployer' });
  });
});
