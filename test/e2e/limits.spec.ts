import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { OperationName } from '../../src/protocol/index.js';
import { BINDINGS, callAny } from '../support/any.binding.js';
import { message } from '../support/caller.matrix.js';
import { AUDIENCE, OidcIssuer } from '../support/oidc.issuer.js';
import { type RunningService, startService } from '../support/service.js';

let issuer: OidcIssuer;
let service: RunningService;
beforeAll(async () => {
  issuer = await OidcIssuer.start('ES256');
  service = await startService({
    env: {
      PARLEY_OIDC_ISSUERS: issuer.url,
      PARLEY_OIDC_AUDIENCE: AUDIENCE,
      PARLEY_LIMIT_REQUESTS: '20',
      PARLEY_LIMIT_TASKS: '2',
      PARLEY_LIMIT_STREAMS: '1',
      PARLEY_LIMIT_FAILED_LOGINS: '5',
    },
  });
});
afterAll(async () => {
  await service?.stop();
  await issuer?.stop();
});

/** Everyone has limits of their own. */
async function newCaller() {
  const claims = { sub: crypto.randomUUID(), scope: 'a2a.send a2a.read a2a.cancel' };
  const headers = { authorization: `Bearer ${await issuer.forge({ claims })}` };
  const call = (operation: OperationName, request: object, binding = BINDINGS[0]!) =>
    callAny(service, { binding, operation, request: request as never, headers });
  const start = (text: string) =>
    call('sendMessage', { ...message(text), configuration: { returnImmediately: true } });
  return { headers, call, start };
}

const limited = (limit: string) => ({ reason: 'RATE_LIMITED', metadata: { limit } });

describe('A caller', () => {
  it.each(BINDINGS)('has so many calls at once on %s, and others have theirs (S002-164)', async (binding) => {
    const [busy, other] = [await newCaller(), await newCaller()];
    const answers = await Promise.all(Array.from({ length: 100 }, () => busy.call('listTasks', {}, binding)));
    const refused = answers.filter(({ reason }) => reason !== undefined);

    expect(refused.length).toBeGreaterThan(0);
    expect(answers.length - refused.length).toBeGreaterThanOrEqual(40);
    for (const answer of refused) {
      expect(answer).toMatchObject({ ...limited('calls'), status: binding === 'GRPC' ? 8 : 429 });
    }
    expect((await other.call('listTasks', {}, binding)).reason).toBeUndefined();
  });

  it('is told when to come back', async () => {
    const { headers } = await newCaller();
    const responses = await Promise.all(
      Array.from({ length: 100 }, () =>
        fetch(`${service.httpUrl}/rest/tasks`, { headers: { ...headers, 'a2a-version': '1.0' } }),
      ),
    );
    const refused = responses.find(({ status }) => status === 429);
    expect(refused?.headers.get('retry-after')).toBe('1');
  });

  it('has so many tasks at work; those that wait or have ended do not count', async () => {
    const { call, start } = await newCaller();
    for (let n = 0; n < 3; n++) await call('sendMessage', message('ask'));
    const first = (await start('sleep 600000')).reply as unknown as { task: { id: string } };
    expect((await start('sleep 600000')).reason).toBeUndefined();

    expect(await start('sleep 1')).toMatchObject(limited('tasks at work'));
    await call('cancelTask', { id: first.task.id });
    expect((await start('sleep 600000')).reason).toBeUndefined();
  });

  it('has so many open streams; one that is left counts no more', async () => {
    const { headers, call } = await newCaller();
    const leaving = new AbortController();
    const response = await fetch(`${service.httpUrl}/rest/message:stream`, {
      method: 'POST',
      headers: { ...headers, 'a2a-version': '1.0', 'content-type': 'application/json' },
      body: JSON.stringify(message('sleep 600000')),
      signal: leaving.signal,
    });
    const { value } = await response.body!.getReader().read();
    const id = /"id":"([^"]+)"/.exec(new TextDecoder().decode(value))?.[1];

    for (const binding of BINDINGS) {
      expect(await call('subscribeToTask', { id }, binding)).toMatchObject(limited('open streams'));
    }
    expect((await call('getTask', { id })).reply).toMatchObject({ id });
    leaving.abort();
    await vi.waitFor(
      async () => expect((await call('subscribeToTask', { id })).reply).toMatchObject({ task: { id } }),
      { timeout: 10_000, interval: 200 },
    );
  });
});

describe('An address', () => {
  it('that tries wrong credentials has to wait on all bindings, known callers go on (S002-165)', async () => {
    const known = await newCaller();
    await known.call('listTasks', {});
    const wrong = { authorization: 'Bearer wrong' };
    for (let n = 0; n < 5; n++) {
      const { reason } = await callAny(service, {
        binding: 'HTTP+JSON',
        operation: 'listTasks',
        headers: wrong,
      });
      expect(reason).toBe('UNAUTHENTICATED');
    }

    for (const binding of BINDINGS) {
      const refused = await callAny(service, { binding, operation: 'listTasks', headers: wrong });
      expect(refused).toMatchObject({ reason: 'RATE_LIMITED', status: binding === 'GRPC' ? 8 : 429 });
    }
    expect((await known.call('listTasks', {})).reply).toMatchObject({ tasks: [] });
  });
});
