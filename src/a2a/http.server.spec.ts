import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bindings, startBindings } from '../../test/support/bindings.js';
import { HELLO } from '../../test/support/fake.operations.js';

const LIMIT = 100_000;

let bindings: Bindings;
beforeAll(async () => {
  bindings = await startBindings({ env: { PARLEY_MAX_BODY_BYTES: String(LIMIT) } });
});
afterAll(() => bindings.app.close());

interface RawAnswer {
  readonly status: number;
  readonly head: string;
  readonly json: {
    readonly error?: { readonly code: number; readonly status?: string };
    readonly jsonrpc?: string;
  };
}

/** Writes bytes to a bare socket and reads answers off it, one after another. */
function rawConnection() {
  const { hostname, port } = new URL(bindings.url);
  const socket = connect(Number(port), hostname);
  let received = '';
  let closed = false;
  let wake = () => {};
  socket.on('data', (part) => {
    received += part.toString();
    wake();
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    closed = true;
    wake();
  });
  const answer = async (): Promise<RawAnswer> => {
    for (;;) {
      const [head = '', rest = ''] = received.split('\r\n\r\n');
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1]);
      if (Buffer.byteLength(rest) >= length) {
        received = received.slice(head.length + 4 + length);
        return { status: Number(head.split(' ')[1]), head, json: JSON.parse(rest) };
      }
      if (closed) throw new Error(`The connection closed after ${JSON.stringify(received)}`);
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  return { socket, answer };
}

async function raw(bytes: string): Promise<RawAnswer> {
  const { socket, answer } = rawConnection();
  socket.write(bytes);
  try {
    return await answer();
  } finally {
    socket.destroy();
  }
}

function requestText(path: string, body: string, headers: string[] = [], method = 'POST'): string {
  const head = [
    `${method} ${path} HTTP/1.1`,
    'Host: x',
    'A2A-Version: 1.0',
    'Content-Type: application/json',
  ];
  return `${[...head, ...headers, `Content-Length: ${Buffer.byteLength(body)}`].join('\r\n')}\r\n\r\n${body}`;
}

const jsonRpc = (text: string) =>
  JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'SendMessage',
    params: { message: { ...HELLO.message, parts: [{ text }] } },
  });
const rest = (text: string) => JSON.stringify({ message: { ...HELLO.message, parts: [{ text }] } });

describe('The HTTP server', { timeout: 20_000 }, () => {
  describe.each([
    ['/jsonrpc', jsonRpc, 'jsonrpc'],
    ['/rest/message:send', rest, 'rest'],
  ])('at %s', (path, bodyOf, shape) => {
    it('takes a body of the largest size and refuses one byte more; the connection goes on (B113)', async () => {
      const padding = LIMIT - bodyOf('').length;
      const { socket, answer } = rawConnection();
      socket.write(requestText(path, bodyOf('x'.repeat(padding))));
      expect((await answer()).status).toBe(200);

      socket.write(requestText(path, bodyOf('x'.repeat(padding + 1))));
      const refused = await answer();
      expect(refused.status).toBe(413);
      expect(refused.json.error?.code).toBe(shape === 'jsonrpc' ? -32000 : 413);

      socket.write(requestText(path, bodyOf('still here')));
      expect((await answer()).status).toBe(200);
      socket.destroy();
    });

    it('refuses a chunked body that grows beyond the limit', async () => {
      const { socket, answer } = rawConnection();
      socket.write(
        `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
      );
      for (let part = 0; part < 5; part++) socket.write(`7530\r\n${'x'.repeat(30_000)}\r\n`);
      socket.write('0\r\n\r\n');
      expect((await answer()).status).toBe(413);
      socket.destroy();
    });

    it('refuses at once what claims to be far larger', async () => {
      const { socket, answer } = rawConnection();
      socket.write(
        `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n{`,
      );
      const { status, json, head } = await answer();
      expect(status).toBe(413);
      expect(head).toMatch(/connection: close/i);
      expect(json.error?.code).toBe(shape === 'jsonrpc' ? -32000 : 413);
      socket.destroy();
    });

    it('answers an expectation that it cannot meet with 417', async () => {
      const { status, json } = await raw(requestText(path, bodyOf('a'), ['Expect: a-miracle']));
      expect(status).toBe(417);
      expect(json.error?.code).toBe(shape === 'jsonrpc' ? -32600 : 417);
    });

    it('sends 100 Continue to whoever waits for it', async () => {
      const { socket } = rawConnection();
      const body = bodyOf('a');
      socket.write(requestText(path, body, ['Expect: 100-continue']).slice(0, -body.length));
      const first = await new Promise<Buffer>((resolve) => socket.once('data', resolve));
      expect(first.toString()).toMatch(/^HTTP\/1.1 100 /);
      socket.destroy();
    });
  });

  it('answers an overlong part of a path with 414 in the shape of the binding', async () => {
    const long = 'x'.repeat(3_000);
    expect(await raw(requestText(`/rest/tasks/${long}`, '', [], 'GET'))).toMatchObject({
      status: 414,
      json: { error: { code: 414 } },
    });
    expect(await raw(requestText(`/agents/${long}/jsonrpc`, jsonRpc('a')))).toMatchObject({
      status: 414,
      json: { jsonrpc: '2.0', error: { code: -32600 } },
    });
  });

  it.each(['/rest/tasks/%zz', '/rest/tasks/%E0%A4%A', '/agents/%ff/rest/tasks'])(
    'answers the path %s, which does not decode, with 400',
    async (path) => {
      const { status, json } = await raw(requestText(path, '', [], 'GET'));
      expect(status).toBe(400);
      expect(json.error).toMatchObject({ code: 400, status: 'INVALID_ARGUMENT' });
    },
  );

  it('answers headers that are too large with 431', async () => {
    const { status, json } = await raw(
      requestText('/jsonrpc', jsonRpc('a'), [`X-Big: ${'x'.repeat(100_000)}`]),
    );
    expect(status).toBe(431);
    expect(json.error?.code).toBe(431);
  });

  it.each(['NONSENSE\r\n\r\n', 'GET / HTTP/9.9\r\n\r\n', '\x16\x03\x01\x02\x00\x01\x00\x01'])(
    'answers %j, which is no HTTP request, with 400',
    async (bytes) => {
      expect(await raw(bytes)).toMatchObject({ status: 400, json: { error: { code: 400 } } });
    },
  );

  it.each(['/', '/unknown', '/agents/echo', '/agents/echo/unknown', '/jsonrpc/more'])(
    'answers %s, where nothing is, with 404',
    async (path) => {
      for (const method of ['GET', 'POST', 'OPTIONS', 'TRACE']) {
        const { status, json } = await raw(requestText(path, method === 'POST' ? '{"a":' : '', [], method));
        expect(status).toBe(404);
        expect(json.error?.code).toBe(path.startsWith('/jsonrpc') ? -32000 : 404);
      }
    },
  );

  it('answers a type that is none in the shape of the binding', async () => {
    const withType = (path: string, body: string) =>
      raw(requestText(path, body).replace('application/json', ';;;'));
    expect(await withType('/jsonrpc', jsonRpc('a'))).toMatchObject({
      status: 200,
      json: { error: { code: -32005 } },
    });
    expect(await withType('/rest/message:send', rest('a'))).toMatchObject({
      status: 400,
      json: { error: { code: 400 } },
    });
  });

  it('takes no harm from a client that leaves in the middle of its body', async () => {
    const { socket } = rawConnection();
    await new Promise<void>((resolve) => {
      socket.write(requestText('/jsonrpc', jsonRpc('x'.repeat(50_000))).slice(0, 30_000), () => resolve());
    });
    socket.resetAndDestroy();
    expect((await raw(requestText('/jsonrpc', jsonRpc('a')))).status).toBe(200);
  });
});

it('HTTP gives a request, its body included, five minutes to arrive', () => {
  expect(bindings.app.getHttpServer().requestTimeout).toBe(300_000);
});

it.each(['/jsonrpc', '/rest/message:send'])(
  'HTTP says that it takes no compressed body at %s',
  async (path) => {
    const body = gzipSync(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id: 't' } }));
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip', 'a2a-version': '1.0' };
    const response = await fetch(bindings.url + path, { method: 'POST', headers, body });
    const text = await response.text();
    expect(text).toContain('CONTENT_TYPE_NOT_SUPPORTED');
    expect(text).toContain('"contentEncoding":"gzip"');
  },
);
