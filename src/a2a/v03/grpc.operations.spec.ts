import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { metadata } from '../../../test/support/bindings.js';
import { reflected } from '../../../test/support/grpc.services.js';
import { OldBindings, SAYS_PROTO } from '../../../test/support/old.bindings.js';
import { A2AError } from '../../protocol/index.js';

const old = new OldBindings();
const { operations, grpc } = old;

describe('0.3 over gRPC (S002-173)', () => {
  it('sends a message', async () => {
    const { reply, headers } = await grpc('SendMessage', { request: SAYS_PROTO });
    expect(reply).toMatchObject({
      payload: 'task',
      task: { id: 'task-1', status: { state: 'TASK_STATE_COMPLETED' }, history: [SAYS_PROTO] },
    });
    expect(headers?.get('a2a-version')).toEqual(['0.3']);
    expect(operations.last.call).toMatchObject({ version: '0.3', binding: 'GRPC', agent: 'echo' });
  });

  it.each([
    ['GetTask', { name: 'tasks/t', historyLength: 2 }, 'getTask', { id: 't', historyLength: 2 }],
    ['CancelTask', { name: 'tasks/t' }, 'cancelTask', { id: 't' }],
    [
      'CreateTaskPushNotificationConfig',
      { parent: 'tasks/t', configId: 'c', config: { pushNotificationConfig: { url: 'https://h.example' } } },
      'createTaskPushNotificationConfig',
      { taskId: 't', id: 'c', url: 'https://h.example' },
    ],
    [
      'DeleteTaskPushNotificationConfig',
      { name: 'tasks/t/pushNotificationConfigs/c' },
      'deleteTaskPushNotificationConfig',
      { taskId: 't', id: 'c' },
    ],
  ] as const)('%s', async (name, request, operation, expected) => {
    expect((await grpc(name, request)).error).toBeUndefined();
    expect(operations.last).toMatchObject({ operation, request: expected });
  });

  it('reads push configs by their resource names', async () => {
    const name = 'tasks/task-1/pushNotificationConfigs/c-1';
    const pushNotificationConfig = { id: 'c-1', authentication: { schemes: ['Bearer'] } };
    expect((await grpc('GetTaskPushNotificationConfig', { name })).reply).toMatchObject({
      name,
      pushNotificationConfig,
    });
    expect((await grpc('ListTaskPushNotificationConfig', { parent: 'tasks/task-1' })).reply).toMatchObject({
      configs: [{ name, pushNotificationConfig }],
    });
  });

  it('streams frames', async () => {
    const frames = await old.frames('TaskSubscription', { name: 'tasks/t' });
    expect(frames).toMatchObject([{ payload: 'artifactUpdate', artifactUpdate: { taskId: 'task-1' } }]);
  });

  it('shows the card with its security', async () => {
    const { reply } = await grpc('GetAgentCard', {});
    expect(reply).toMatchObject({
      protocolVersion: '0.3.0',
      name: 'Public',
      url: 'https://a.example/jsonrpc',
      iconUrl: 'https://a.example/icon',
      supportsAuthenticatedExtendedCard: true,
      securitySchemes: {
        oidc: { openIdConnectSecurityScheme: { openIdConnectUrl: 'https://i.example/o' } },
        key: { apiKeySecurityScheme: { location: 'header', name: 'X-API-Key' } },
      },
      security: [{ schemes: { oidc: { list: ['a2a.send'] } } }, { schemes: { key: {} } }],
      skills: [{ id: 's', security: [{ schemes: { oidc: { list: ['a2a.send'] } } }] }],
    });
  });

  it('finds another agent by metadata', async () => {
    await grpc('GetTask', { name: 'tasks/t' }, metadata({ 'a2a-tenant': 'acme' }));
    expect(operations.last.call.agent).toBe('acme');
    const { error } = await grpc('GetTask', { name: 'tasks/t' }, metadata({ 'a2a-tenant': 'nobody' }));
    expect(error?.code).toBe(status.NOT_FOUND);
  });

  it.each([
    ['taskNotFound', 'NOT_FOUND'],
    ['taskNotCancelable', 'FAILED_PRECONDITION'],
    ['unsupportedOperation', 'UNIMPLEMENTED'],
    ['pushNotificationNotSupported', 'UNIMPLEMENTED'],
    ['contentTypeNotSupported', 'INVALID_ARGUMENT'],
  ] as const)('answers %s with %s', async (kind, name) => {
    const { cancelTask } = operations;
    operations.cancelTask = async () => {
      throw new A2AError(kind);
    };
    const { error } = await grpc('CancelTask', { name: 'tasks/t' });
    operations.cancelTask = cancelTask;
    expect(error?.code).toBe(status[name]);
  });

  it('refuses names that are none', async () => {
    for (const [call, request] of [
      ['GetTask', { name: 't' }],
      ['CancelTask', { name: '' }],
      ['GetTaskPushNotificationConfig', { name: 'tasks/t' }],
    ] as const) {
      expect((await grpc(call, request)).error?.code).toBe(status.INVALID_ARGUMENT);
    }
  });

  it('speaks no other version there, nor 0.3 at the service of 1.0 (B104)', async () => {
    const { error } = await grpc('GetTask', { name: 'tasks/t' }, metadata({ 'a2a-version': '1.0' }));
    expect(error?.code).toBe(status.FAILED_PRECONDITION);
  });

  it('is found by reflection', async () => {
    expect(await reflected(old.grpcAddress)).toEqual(
      expect.arrayContaining(['a2a.v1.A2AService', 'lf.a2a.v1.A2AService']),
    );
  });
});
