import { text } from 'node:stream/consumers';
import { jwtVerify } from 'jose';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { serve, type TestServer } from '../../../test/support/backends/stand.js';
import { fakeTurn } from '../../../test/support/turn.js';
import { backendHeaders, callBackend } from './backend.client.js';

const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const seen: { url?: string; headers: Record<string, unknown>; body: string }[] = [];
let answer: { status: number; headers?: Record<string, string> } = { status: 200 };
let server: TestServer;

beforeAll(async () => {
  server = await serve(async (request, response) => {
    seen.push({ url: request.url, headers: request.headers, body: await text(request) });
    response.writeHead(answer.status, answer.headers).end('secret of the inside');
  });
});
afterAll(() => server.close());
afterEach(() => void seen.splice(0));

const call = (more: object = {}) =>
  callBackend({ url: server.url, headers: {}, signal: new AbortController().signal, retries: 0, ...more });

describe('A call to a back end', () => {
  it('says who calls, signed, and carries the trace on', async () => {
    const secret = process.env.PATH!;
    const principal = { organisation: 'acme', subject: 'ann', scopes: new Set<string>() };
    const turn = fakeTurn({ principal, traceparent: TRACE });
    const access = { headers: { 'x-team': 'blue' }, caller: `\${env:PATH}` };
    const headers = await backendHeaders(access, turn, 'https://agent.example/work');

    expect(headers).toMatchObject({ traceparent: TRACE, 'x-team': 'blue' });
    const { payload } = await jwtVerify(headers['parley-caller']!, new TextEncoder().encode(secret), {
      issuer: 'parley',
      audience: 'https://agent.example',
    });
    expect(payload).toMatchObject({ sub: 'ann', org: 'acme', task: 'task-1' });
  });

  it('says nothing of the caller where that is not wanted', async () => {
    expect(await backendHeaders({}, fakeTurn(), 'https://agent.example/')).toEqual({});
  });

  it.each([
    [302, 'The agent failed with HTTP status 302.'],
    [401, 'The agent does not let the service in.'],
    [429, 'The agent is busy; try again later.'],
    [500, 'The agent failed with HTTP status 500.'],
  ])('answered with %i fails with a harmless reason, and follows nothing', async (status, reason) => {
    answer = { status, headers: { location: '/elsewhere' } };
    await expect(call()).rejects.toThrow(reason);
    expect(seen.map(({ url }) => url)).toEqual(['/']);
  });

  it('is made again where the work has not begun, and never where it may have', async () => {
    answer = { status: 503, headers: { 'retry-after': '0' } };
    await expect(call({ retries: 2 })).rejects.toThrow('busy');
    expect(seen).toHaveLength(3);

    answer = { status: 500 };
    await expect(call({ retries: 2 })).rejects.toThrow('500');
    expect(seen).toHaveLength(4);
  });

  it('to nobody says so', async () => {
    const gone = await serve(() => {});
    await gone.close();
    await expect(call({ url: gone.url })).rejects.toThrow('The agent cannot be reached.');
  });
});
