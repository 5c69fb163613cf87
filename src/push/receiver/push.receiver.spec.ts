import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import fastify from 'fastify';
import { afterEach, describe, expect, it } from 'vitest';
import { WebhookSigner } from '../webhook.signer.js';
import { type PushNotification, PushReceiver } from './index.js';

const SECRET = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
const OTHER = `whsec_${Buffer.alloc(32, 2).toString('base64')}`;
const BODY = JSON.stringify({ statusUpdate: { taskId: 't', status: { state: 'TASK_STATE_WORKING' } } });

function signed(secrets = [SECRET], body = BODY, seq = 1): Record<string, string> {
  return {
    'content-type': 'application/a2a+json',
    'x-a2a-notification-token': 'token',
    ...new WebhookSigner(secrets).of({ taskId: 't', configId: 'c' }, {})(seq, body),
  };
}

const rejection = (status: number) => expect.objectContaining({ name: 'PushRejected', status });

describe('the receiver kit', () => {
  const receiver = () => new PushReceiver({ secrets: [SECRET], token: 'token' });

  it('takes what is signed and carries the token, in both content types and headers (S002-134)', () => {
    const { 'x-a2a-notification-token': token, ...rest } = signed();
    const json = { ...signed(), 'content-type': 'application/json; charset=utf-8' };
    for (const headers of [
      signed(),
      json,
      signed([OTHER, SECRET]),
      { ...rest, 'a2a-notification-token': token },
    ]) {
      expect(receiver().verify(headers, Buffer.from(BODY)).event).toEqual(JSON.parse(BODY));
    }
  });

  it('refuses another secret, another body, another token, another type', () => {
    expect(() => receiver().verify(signed([OTHER]), BODY)).toThrow(rejection(401));
    expect(() => receiver().verify(signed(), `${BODY} `)).toThrow(rejection(401));
    expect(() => receiver().verify({ ...signed(), 'webhook-id': 'evt_2' }, BODY)).toThrow(rejection(401));
    expect(() => receiver().verify({ ...signed(), 'x-a2a-notification-token': 'x' }, BODY)).toThrow(
      rejection(401),
    );
    expect(() => receiver().verify({ ...signed(), 'content-type': 'text/plain' }, BODY)).toThrow(
      rejection(415),
    );
    expect(() => receiver().verify({}, BODY)).toThrow(rejection(415));
    expect(() => receiver().verify(signed([SECRET], 'no json'), 'no json')).toThrow(rejection(400));
  });

  it('refuses a recording that is played later', () => {
    const old = { ...signed(), 'webhook-timestamp': String(Math.floor(Date.now() / 1000) - 600) };
    expect(() => receiver().verify(old, BODY)).toThrow(rejection(401));
  });

  it('takes what is of a task that is waited for, in each form of an event', () => {
    const kit = new PushReceiver({
      secrets: [SECRET],
      token: 'token',
      expects: (taskId) => taskId === 'mine',
    });
    for (const [event, isMine] of [
      [{ task: { id: 'mine' } }, true],
      [{ artifactUpdate: { taskId: 'mine' } }, true],
      [{ kind: 'task', id: 'mine' }, true],
      [{ statusUpdate: { taskId: 'other' } }, false],
      [{}, false],
    ] as const) {
      const body = JSON.stringify(event);
      const verify = () => kit.verify(signed([SECRET], body), body).taskId;
      if (isMine) expect(verify()).toBe('mine');
      else expect(verify).toThrow(rejection(404));
    }
  });

  it('hands an event on once, and again only when its handler failed (S002-134)', async () => {
    const kit = receiver();
    const handled: PushNotification[] = [];
    const failing = () => Promise.reject(new Error('not now'));
    await expect(kit.receive(signed(), BODY, failing)).rejects.toThrow('not now');
    expect(await kit.receive(signed(), BODY, (notification) => void handled.push(notification))).toBe(true);
    expect(await kit.receive(signed(), BODY, (notification) => void handled.push(notification))).toBe(false);
    expect(await kit.receive(signed([SECRET], BODY, 2), BODY, (n) => void handled.push(n))).toBe(true);
    expect(new Set(handled.map(({ id }) => id)).size).toBe(2);
  });
});

describe('the receiver kit behind a server', () => {
  const close: (() => unknown)[] = [];
  afterEach(async () => {
    for (const each of close.splice(0)) await each();
  });

  const post = (url: string, headers: Record<string, string>, body = BODY) =>
    fetch(url, { method: 'POST', headers, body }).then(({ status }) => status);

  it.each([
    [
      'node:http',
      async (kit: PushReceiver, handle: () => void) => {
        const server = createServer(kit.listener(handle));
        await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
        close.push(() => server.close());
        return server.address() as AddressInfo;
      },
    ],
    [
      'Express',
      async (kit: PushReceiver, handle: () => void) => {
        const app = express().post('/hook', kit.listener(handle));
        const server = await new Promise<ReturnType<typeof app.listen>>((resolve) => {
          const listening = app.listen(0, '127.0.0.1', () => resolve(listening));
        });
        close.push(() => server.close());
        return server.address() as AddressInfo;
      },
    ],
    [
      'Fastify',
      async (kit: PushReceiver, handle: () => void) => {
        const app = fastify();
        app.removeAllContentTypeParsers();
        app.addContentTypeParser('*', { parseAs: 'buffer' }, (_, body, done) => done(null, body));
        app.post('/hook', async (request, reply) => {
          try {
            await kit.receive(request.headers, request.body as Buffer, handle);
            return reply.code(204).send();
          } catch (error) {
            return reply.code((error as { status?: number }).status ?? 500).send();
          }
        });
        await app.listen({ port: 0, host: '127.0.0.1' });
        close.push(() => app.close());
        return app.server.address() as AddressInfo;
      },
    ],
  ])('works with %s', async (_, start) => {
    let handled = 0;
    const kit = new PushReceiver({ secrets: [SECRET], token: 'token' });
    const { port } = await start(kit, () => {
      handled++;
    });
    const url = `http://127.0.0.1:${port}/hook`;
    expect([await post(url, signed()), await post(url, signed()), handled]).toEqual([204, 204, 1]);
    expect([await post(url, signed([OTHER])), handled]).toEqual([401, 1]);
  });
});
