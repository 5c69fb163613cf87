import { request as httpRequest, type ServerResponse } from 'node:http';
import { Logger } from '@nestjs/common';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Bindings, startBindings } from '../../test/support/bindings.js';
import { aTask } from '../../test/support/fake.operations.js';
import { A2AError, type CallContext } from '../protocol/index.js';

/** The machine may be busy; what is waited for comes or does not. */
const eventually = (check: () => void) => vi.waitFor(check, { timeout: 10_000 });

let bindings: Bindings;
let original: Bindings['operations']['getTask'];
beforeAll(async () => {
  bindings = await startBindings();
  original = bindings.operations.getTask;
});
afterAll(() => bindings.app.close());
afterEach(() => {
  bindings.operations.getTask = original;
  vi.restoreAllMocks();
});

const headers = { 'a2a-version': '1.0' };

/** Lets a call come as far as its operation, which then waits for `finish`. */
function waitingCall() {
  const { hostname, port } = new URL(bindings.url);
  let finish = () => {};
  let fail: (error: Error) => void = () => {};
  const entered = new Promise<CallContext>((enter) => {
    bindings.operations.getTask = (_request, call) => {
      enter(call);
      return new Promise((resolve, reject) => {
        finish = () => resolve(aTask());
        fail = reject;
      });
    };
  });
  const request = httpRequest({ hostname, port, path: '/rest/tasks/t', headers });
  request.on('error', () => {});
  request.end();
  return { request, entered, finish: () => finish(), fail: (error: Error) => fail(error) };
}

describe('The caller of an HTTP call', { timeout: 20_000 }, () => {
  it('aborts the signal of the call when it leaves before the answer', async () => {
    const { request, entered, finish } = waitingCall();
    const { signal } = await entered;
    expect(signal.aborted).toBe(false);

    request.destroy();
    await eventually(() => expect(signal.aborted).toBe(true));
    finish();
    expect((await fetch(`${bindings.url}/rest/tasks`, { headers })).status).toBe(200);
  });

  it('is known to have left also to whoever asks later', async () => {
    const { request, entered, finish } = waitingCall();
    const call = await entered;
    request.destroy();
    await eventually(() => expect((call as unknown as { caller: { gone: boolean } }).caller.gone).toBe(true));
    expect(call.signal.aborted).toBe(true);
    finish();
  });

  it('has not left when its answer is complete and the connection closes', async () => {
    const { request, entered, finish } = waitingCall();
    const call = await entered;
    const { signal } = call;
    const { raw } = (call as unknown as { caller: { reply: { raw: ServerResponse } } }).caller.reply;
    const closed = new Promise((resolve) => raw.once('close', resolve));
    request.on('response', (response) => response.resume());
    finish();
    await closed;
    expect(raw.writableFinished).toBe(true);
    expect(signal.aborted).toBe(false);
  });

  it('leaves no error in the log by leaving, and one by a fault of ours (B107, B124)', async () => {
    const logged = vi.spyOn(Logger.prototype, 'error').mockImplementation(() => {});
    const left = waitingCall();
    const { signal } = await left.entered;
    left.request.destroy();
    await eventually(() => expect(signal.aborted).toBe(true));
    left.fail(new Error('aborted'));

    bindings.operations.getTask = () =>
      Promise.reject(new A2AError('unavailable', { cause: new Error('db down') }));
    const response = await fetch(`${bindings.url}/rest/tasks/t`, { headers });
    expect(response.status).toBe(503);
    const shown = await response.text();
    expect(shown).not.toContain('db down');
    expect(logged).toHaveBeenCalledTimes(1);
    const [record] = logged.mock.calls[0] as unknown as [{ traceId: string; cause: Error }];
    expect(record).toMatchObject({ kind: 'unavailable', operation: 'getTask', agent: 'echo' });
    expect(record.cause.message).toBe('db down');
    expect(shown).toContain(record.traceId);
  });
});
