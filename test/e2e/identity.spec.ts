import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Binding, OPERATION_NAMES, type OperationName } from '../../src/protocol/index.js';
import { type Answer, BINDINGS, callAny } from '../support/any.binding.js';
import { AUDIENCE, OidcIssuer } from '../support/oidc.issuer.js';
import { type RunningService, startService } from '../support/service.js';

let issuer: OidcIssuer;
let service: RunningService;
beforeAll(async () => {
  issuer = await OidcIssuer.start('RS256');
  service = await startService({
    env: {
      PARLEY_OIDC_ISSUERS: issuer.url,
      PARLEY_OIDC_AUDIENCE: AUDIENCE,
      PARLEY_OIDC_ORGANISATION_CLAIM: 'org',
      PARLEY_API_KEYS: 'true',
      PARLEY_LIMIT_FAILED_LOGINS: '0',
      PARLEY_PUBLIC_URL: 'https://parley.example',
    },
  });
});
afterAll(async () => {
  await service?.stop();
  await issuer.stop();
});

const ALL = 'a2a.send a2a.read a2a.cancel a2a.push a2a.card';
const token = (claims: Record<string, unknown> = {}) =>
  issuer.forge({ claims: { org: 'acme', scope: ALL, ...claims } });
const bearer = (given: string) => ({ authorization: `Bearer ${given}` });
const hello = () => ({
  message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'hello' }] },
});
/** A complete request of every operation, for a task that does not exist. */
const REQUESTS: Readonly<Record<OperationName, () => object>> = {
  sendMessage: hello,
  sendStreamingMessage: hello,
  getTask: () => ({ id: 'nobody' }),
  listTasks: () => ({}),
  cancelTask: () => ({ id: 'nobody' }),
  subscribeToTask: () => ({ id: 'nobody' }),
  createTaskPushNotificationConfig: () => ({ taskId: 'nobody', url: 'https://hook.example' }),
  getTaskPushNotificationConfig: () => ({ taskId: 'nobody', id: 'a' }),
  listTaskPushNotificationConfigs: () => ({ taskId: 'nobody' }),
  deleteTaskPushNotificationConfig: () => ({ taskId: 'nobody', id: 'a' }),
  getExtendedAgentCard: () => ({}),
};
const call = (
  binding: Binding,
  operation: OperationName,
  headers: Record<string, string> = {},
): Promise<Answer> =>
  callAny(service, { binding, operation, request: REQUESTS[operation]() as never, headers });
const EVERY_WAY = BINDINGS.flatMap((binding) =>
  OPERATION_NAMES.map((operation) => [operation, binding] as const),
);

describe('With an issuer configured', () => {
  it('the card can be read by anyone, and says how to sign in (B64)', async () => {
    const response = await fetch(`${service.httpUrl}/.well-known/agent-card.json`);
    const card = (await response.json()) as { securitySchemes: object };

    expect(response.status).toBe(200);
    expect(Object.keys(card.securitySchemes)).toEqual(['oidc', 'apiKey']);
  });

  it('the resource metadata names the issuer and the scopes (RFC 9728)', async () => {
    const response = await fetch(`${service.httpUrl}/.well-known/oauth-protected-resource`);

    expect(await response.json()).toEqual({
      resource: 'https://parley.example',
      authorization_servers: [issuer.url],
      scopes_supported: ALL.split(' '),
      bearer_methods_supported: ['header'],
      resource_name: 'Parley',
    });
  });

  it.each(EVERY_WAY)('%s on %s needs a credential, and says which', async (operation, binding) => {
    for (const headers of [{}, bearer('x'), bearer(await token({ aud: 'else' }))]) {
      const { status, reason, challenge } = await call(binding, operation, headers);

      expect(reason).toBe('UNAUTHENTICATED');
      expect(status).toBe(binding === 'GRPC' ? 16 : 401);
      if (binding !== 'GRPC') {
        expect(challenge).toMatch(/^Bearer realm="parley", .*scope="a2a\.\w+"/);
        expect(challenge).toContain(
          'resource_metadata="https://parley.example/.well-known/oauth-protected-resource"',
        );
      }
    }
  });

  it.each(EVERY_WAY)('%s on %s needs its scope, before anything is looked up', async (operation, binding) => {
    const { metadata } = await call(binding, operation, bearer(await token({ scope: 'openid' })));
    const scope = metadata?.scope ?? '';
    const others = ALL.split(' ').filter((other) => other !== scope);
    const refused = await call(binding, operation, bearer(await token({ scope: others.join(' ') })));
    const allowed = await call(binding, operation, bearer(await token({ scope })));

    expect(ALL.split(' ')).toContain(scope);
    expect(refused).toMatchObject({ reason: 'PERMISSION_DENIED', status: binding === 'GRPC' ? 7 : 403 });
    if (binding !== 'GRPC')
      expect(refused.challenge).toContain(`error="insufficient_scope", scope="${scope}"`);
    expect(['UNAUTHENTICATED', 'PERMISSION_DENIED']).not.toContain(allowed.reason);
  });

  it.each(BINDINGS)('a token of the real token endpoint lets its caller work on %s', async (binding) => {
    const headers = bearer(await issuer.token());
    const sent = await call(binding, 'sendMessage', headers);
    const { task } = sent.reply as { task: { id: string } };
    const read = await callAny(service, { binding, operation: 'getTask', request: { id: task.id }, headers });

    expect(read.reply).toMatchObject({ id: task.id, status: { state: 'TASK_STATE_COMPLETED' } });
  });

  it("keeps one caller's task from another of the same organisation, and from the same name elsewhere", async () => {
    const sent = await call('JSONRPC', 'sendMessage', bearer(await token({ sub: 'ann' })));
    const { id } = (sent.reply as { task: { id: string } }).task;

    const read = async (binding: Binding, task: string, claims: Record<string, unknown>) =>
      callAny(service, {
        ...{ binding, operation: 'getTask', request: { id: task } },
        headers: bearer(await token(claims)),
      });

    for (const binding of BINDINGS) {
      const unknown = crypto.randomUUID();
      const random = await read(binding, unknown, {});
      expect(random).toMatchObject({ reason: 'TASK_NOT_FOUND', metadata: { taskId: unknown } });
      for (const claims of [{ sub: 'bob' }, { sub: 'ann', org: 'other' }]) {
        expect(await read(binding, id, claims)).toEqual({ ...random, metadata: { taskId: id } });
      }
      expect(await read(binding, id, { sub: 'ann' })).toMatchObject({ reply: { id } });
    }
  });

  it('goes on while the keys of the issuer change (B60)', async () => {
    await call('GRPC', 'listTasks', bearer(await token()));
    await issuer.rotate();

    for (const binding of BINDINGS) {
      expect((await call(binding, 'listTasks', bearer(await token()))).reason).toBeUndefined();
    }
  });
});
