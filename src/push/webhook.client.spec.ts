import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebhookClient } from './webhook.client.js';
import { WebhookGuard } from './webhook.guard.js';

let behaviour: (response: ServerResponse) => void = (response) => response.end();
const sockets = new Set<unknown>();
const server = createServer((request, response) => {
  sockets.add(request.socket);
  behaviour(response);
});
let url: string;
const clientOf = (timeoutMs: number) =>
  new WebhookClient({ guard: new WebhookGuard(['127.0.0.1']), timeoutMs });
const client = clientOf(4_000);
const hasty = clientOf(200);

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
});
afterAll(async () => {
  await client.close();
  await hasty.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const begin = (to = url, by = client) => by.post({ url: to, headers: {}, body: '{}' });
const post = (to = url) => begin(to).answer;
const postHastily = () => begin(url, hasty).answer;

describe('a try of a push', () => {
  it('succeeds with a 2xx, over kept connections', async () => {
    sockets.clear();
    behaviour = (response) => response.writeHead(202).end('thanks');
    for (let i = 0; i < 5; i++) expect(await post()).toMatchObject({ ok: true, status: 202 });
    expect(sockets.size).toBeLessThanOrEqual(2);
  });

  it.each([[301], [404], [410], [500]])('fails with %i', async (status) => {
    behaviour = (response) => response.writeHead(status, { location: url }).end();
    expect(await post()).toMatchObject({ ok: false, status });
  });

  it('reads Retry-After as seconds and as a date', async () => {
    behaviour = (response) => response.writeHead(503, { 'retry-after': '7' }).end();
    expect(await post()).toMatchObject({ retryAfterMs: 7_000 });
    const date = new Date(Date.now() + 60_000).toUTCString();
    behaviour = (response) => response.writeHead(503, { 'retry-after': date }).end();
    const { retryAfterMs } = await post();
    expect(retryAfterMs).toBeGreaterThan(50_000);
    expect(retryAfterMs).toBeLessThanOrEqual(60_000);
  });

  it('is cut off after its time when no answer begins', async () => {
    behaviour = () => undefined;
    expect(await postHastily()).toMatchObject({ ok: false, error: 'timeout' });
  });

  it.each([200, 503])('has the status %i of an answer that does not end, or breaks off', async (status) => {
    const ok = status === 200;
    behaviour = (response) => response.writeHead(status).write('...');
    expect(await post()).toMatchObject({ ok, status });
    behaviour = (response) => response.writeHead(status).write('...', () => response.destroy());
    expect(await post()).toMatchObject({ ok, status });
  });

  it('takes an answer of any length for what its status says, and reads little of it', async () => {
    behaviour = (response) => {
      const more = (gone?: Error | null) => {
        if (!gone && !response.destroyed) response.write('x'.repeat(65_536), more);
      };
      response.writeHead(200);
      more();
    };
    expect(await post()).toMatchObject({ ok: true, status: 200 });
  });

  it('can be broken off, before it has begun and while it waits for an answer', async () => {
    const early = begin();
    early.abort();
    expect(await early.answer).toMatchObject({ ok: false, error: 'stopped' });
    behaviour = () => attempt.abort();
    const attempt = begin();
    expect(await attempt.answer).toMatchObject({ ok: false, error: 'stopped' });
  });

  it('goes over a new connection where the kept ones have been given up', async () => {
    behaviour = (response) => setTimeout(() => response.end(), 20);
    const known = new Set<unknown>();
    await Promise.all(Array.from({ length: 10 }, () => post()));
    for (const socket of sockets) known.add(socket);
    behaviour = (response) => {
      if (known.has(response.socket)) response.socket?.resetAndDestroy();
      else response.end();
    };
    const answers = await Promise.all(Array.from({ length: 10 }, () => post()));
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
  });

  it('says why there was no answer', async () => {
    behaviour = (response) => response.destroy();
    expect(await post()).toMatchObject({ ok: false, error: 'UND_ERR_SOCKET' });
    expect(await post('http://127.0.0.1:1/')).toMatchObject({ ok: false, error: 'ECONNREFUSED' });
  });
});
