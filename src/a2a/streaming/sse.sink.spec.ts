import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Bindings, startBindings } from '../../../test/support/bindings.js';
import { chunk, HELLO, streamOf } from '../../../test/support/fake.operations.js';
import { A2AError, type EventStream, StreamEvent } from '../../protocol/index.js';

/** The machine may be busy; what is waited for comes or does not. */
const eventually = (check: () => void) => vi.waitFor(check, { timeout: 10_000 });

let bindings: Bindings;
let original: Bindings['operations']['subscribeToTask'];
beforeAll(async () => {
  bindings = await startBindings({ env: { PARLEY_SSE_HEARTBEAT_MS: '50' } });
  original = bindings.operations.subscribeToTask;
});
afterAll(() => bindings.app.close());
afterEach(() => {
  bindings.operations.subscribeToTask = original;
});

/** A stream whose events the test gives one by one. */
class Hand implements EventStream {
  returned = false;
  #give: ((result: IteratorResult<readonly StreamEvent[]>) => void) | undefined;
  #fail: ((error: Error) => void) | undefined;

  async give(...batch: StreamEvent[]): Promise<void> {
    await eventually(() => expect(this.#give).toBeDefined());
    const give = this.#give;
    this.#give = this.#fail = undefined;
    give?.({ value: batch, done: false });
  }

  async fail(error: Error): Promise<void> {
    await eventually(() => expect(this.#fail).toBeDefined());
    this.#fail?.(error);
  }

  [Symbol.asyncIterator](): AsyncIterator<readonly StreamEvent[]> {
    return {
      next: () =>
        new Promise((resolve, reject) => {
          this.#give = resolve;
          this.#fail = reject;
        }),
      return: async () => {
        this.returned = true;
        return { value: undefined, done: true };
      },
    };
  }
}

function byHand(): Hand {
  const hand = new Hand();
  bindings.operations.subscribeToTask = async () => hand;
  return hand;
}

const SUBSCRIBE = '/rest/tasks/t:subscribe';

/** Opens a stream and collects what comes, as text. */
async function open(path = SUBSCRIBE, body?: unknown) {
  const { hostname, port } = new URL(bindings.url);
  const headers = { 'a2a-version': '1.0', ...(body ? { 'content-type': 'application/json' } : {}) };
  const request = httpRequest({ hostname, port, path, method: body ? 'POST' : 'GET', headers });
  request.on('error', () => {});
  request.end(body ? JSON.stringify(body) : undefined);
  const response = await new Promise<IncomingMessage>((resolve) => request.once('response', resolve));
  const seen = { text: '', ended: false };
  response.setEncoding('utf8');
  response.on('data', (part: string) => {
    seen.text += part;
  });
  response.on('end', () => {
    seen.ended = true;
  });
  response.on('error', () => {});
  return { request, response, seen };
}

const events = (text: string) => text.split('\n\n').filter((frame) => frame !== '' && !frame.startsWith(':'));

describe('A stream of server-sent events', { timeout: 20_000 }, () => {
  it('answers with headers that no proxy buffers, before the first event (B27)', async () => {
    const hand = byHand();
    const { response, request } = await open();

    expect(response.statusCode).toBe(200);
    expect(response.headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      'a2a-version': '1.0',
    });
    request.destroy();
    await eventually(() => expect(hand.returned).toBe(true));
  });

  it('keeps no header of its request while it is open', async () => {
    const hand = new Hand();
    let secret: string | undefined;
    bindings.operations.subscribeToTask = async (_, call) => {
      secret = call.header?.('authorization');
      return hand;
    };
    const { hostname, port } = new URL(bindings.url);
    const headers = { 'a2a-version': '1.0', authorization: 'Bearer secret' };
    const arrived = once(bindings.app.getHttpServer(), 'request') as Promise<[IncomingMessage]>;
    const request = httpRequest({ hostname, port, path: SUBSCRIBE, headers }).on('error', () => {});
    request.end();
    await once(request, 'response');

    expect(secret).toBe('Bearer secret');
    const [{ headers: kept, rawHeaders }] = await arrived;
    expect([kept, rawHeaders]).toEqual([{}, []]);
    request.destroy();
    await eventually(() => expect(hand.returned).toBe(true));
  });

  it('gives each event its number and one line of data, and ends with the stream', async () => {
    bindings.operations.subscribeToTask = async () => streamOf([chunk(7)], [chunk(8), chunk(9, 'a\nb')]);
    const { seen } = await open();
    await eventually(() => expect(seen.ended).toBe(true));

    const frames = events(seen.text).map((frame) => frame.split('\n'));
    expect(frames.map(([id]) => id)).toEqual(['id: 7', 'id: 8', 'id: 9']);
    expect(frames.every((lines) => lines.length === 2)).toBe(true);
    const last = JSON.parse(frames[2]![1]!.slice('data: '.length));
    expect(last.artifactUpdate.artifact.parts).toEqual([{ text: 'a\nb' }]);
  });

  it('gives a direct Message no number', async () => {
    const { response } = chunk(1);
    bindings.operations.subscribeToTask = async () => streamOf([new StreamEvent(response, undefined)]);
    const { seen } = await open();
    await eventually(() => expect(seen.ended).toBe(true));
    expect(seen.text).toMatch(/^data: \{[^\n]*\}\n\n$/);
  });

  it('is a row of complete JSON-RPC responses on that binding (S002-012)', async () => {
    const params = { jsonrpc: '2.0', id: 'call "7"', method: 'SendStreamingMessage', params: HELLO };
    const { seen, response } = await open('/jsonrpc', params);
    await eventually(() => expect(seen.ended).toBe(true));

    expect(response.headers['content-type']).toBe('text/event-stream');
    const responses = events(seen.text).map((frame) => JSON.parse(frame.split('data: ')[1]!));
    expect(responses).toHaveLength(3);
    for (const [index, each] of responses.entries()) {
      expect(each).toMatchObject({ jsonrpc: '2.0', id: 'call "7"' });
      expect(each.result.artifactUpdate.artifact.parts[0].text).toBe(`chunk ${index + 1} `);
    }
  });

  it('keeps an event of a megabyte, and what is not ASCII, whole (B100)', async () => {
    const text = `<a & b> 日本語 😀 \u2028${'x'.repeat(1_000_000)}`;
    bindings.operations.subscribeToTask = async () => streamOf([chunk(1, text), chunk(2)]);
    const { seen } = await open();
    await eventually(() => expect(seen.ended).toBe(true));

    const [first] = events(seen.text);
    expect(first).toContain('<a & b> 日本語 😀 \\u2028');
    expect(JSON.parse(first!.split('data: ')[1]!).artifactUpdate.artifact.parts[0].text).toBe(text);
  });

  it('beats with bare comments, between events only (B27, B28)', async () => {
    const hand = byHand();
    const { seen, request } = await open();
    await eventually(() => expect(seen.text.match(/^: \n\n/gm)?.length).toBeGreaterThan(2));
    await hand.give(chunk(1, 'x'.repeat(300_000)), chunk(2, 'y'.repeat(300_000)));
    const beats = () => seen.text.match(/^: $/gm)?.length ?? 0;
    const before = beats();
    await eventually(() => expect(beats()).toBeGreaterThan(before + 1));

    const frames = seen.text.split('\n\n').slice(0, -1);
    for (const frame of frames) expect(frame).toMatch(/^(: |id: \d+\ndata: \{.*\})$/);
    expect(frames.filter((frame) => frame.startsWith('id'))).toHaveLength(2);
    request.destroy();
    await eventually(() => expect(bindings.streams.count).toBe(0));
  });

  describe('that fails', () => {
    it.each([
      ['SubscribeToTask on REST', SUBSCRIBE, undefined, 404],
      [
        'on JSON-RPC',
        '/jsonrpc',
        { jsonrpc: '2.0', id: 3, method: 'SubscribeToTask', params: { id: 't' } },
        200,
      ],
    ])('before its first event is a plain error: %s (B31)', async (_name, path, body, status) => {
      bindings.operations.subscribeToTask = () => Promise.reject(new A2AError('taskNotFound'));
      const { response, seen } = await open(path, body);
      await eventually(() => expect(seen.ended).toBe(true));

      expect(response.statusCode).toBe(status);
      expect(response.headers['content-type']).toMatch(/^application\/(a2a\+)?json/);
      expect(seen.text).toContain('TASK_NOT_FOUND');
    });

    it('later ends with one error frame in the shape of the binding (B31)', async () => {
      for (const body of [
        undefined,
        { jsonrpc: '2.0', id: 3, method: 'SubscribeToTask', params: { id: 't' } },
      ]) {
        const hand = byHand();
        const { seen } = await open(body ? '/jsonrpc' : SUBSCRIBE, body);
        await hand.give(chunk(1), chunk(2));
        await hand.fail(new Error('password=x'));
        await eventually(() => expect(seen.ended).toBe(true));

        const frames = events(seen.text);
        expect(frames).toHaveLength(3);
        const [name, data] = frames[2]!.split('\n');
        expect(name).toBe('event: error');
        const error = JSON.parse(data!.slice('data: '.length));
        if (body) expect(error).toMatchObject({ jsonrpc: '2.0', id: 3, error: { code: -32603 } });
        else expect(error).toMatchObject({ error: { code: 500, status: 'INTERNAL' } });
        expect(seen.text).not.toContain('password');
        expect(hand.returned).toBe(true);
      }
    });
  });

  it('is over at once for whoever resets the connection, a hundred times (B26)', async () => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SubscribeToTask', params: { id: 't' } });
    const hands: Hand[] = [];
    bindings.operations.subscribeToTask = async () => {
      const hand = new Hand();
      hands.push(hand);
      return hand;
    };
    const sockets = await Promise.all(Array.from({ length: 100 }, () => rawStream(body)));
    expect(bindings.streams.count).toBe(100);

    for (const socket of sockets) socket.resetAndDestroy();
    await eventually(() => expect(bindings.streams.count).toBe(0));
    expect(hands.every(({ returned }) => returned)).toBe(true);
  });

  it('holds a bounded part for a reader that never reads', async () => {
    let produced = 0;
    bindings.operations.subscribeToTask = async () =>
      (async function* (): EventStream {
        for (let seq = 1; seq <= 10_000; seq++) {
          produced++;
          yield [chunk(seq, 'x'.repeat(100_000))];
        }
      })();
    const { hostname, port } = new URL(bindings.url);
    const socket = connect(Number(port), hostname);
    socket.pause();
    socket.write(`GET ${SUBSCRIBE} HTTP/1.1\r\nHost: x\r\nA2A-Version: 1.0\r\n\r\n`);
    let before = -1;
    await vi.waitFor(
      () => {
        const stalled = produced > 0 && produced === before;
        before = produced;
        expect(stalled).toBe(true);
      },
      { interval: 200, timeout: 15_000 },
    );

    expect(produced).toBeLessThan(200);
    expect(bindings.streams.count).toBe(1);
    socket.resetAndDestroy();
    await eventually(() => expect(bindings.streams.count).toBe(0));
  });
});

/** A stream over a bare socket, open once its head has arrived. */
async function rawStream(body: string): Promise<Socket> {
  const { hostname, port } = new URL(bindings.url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  const head = ['POST /jsonrpc HTTP/1.1', 'Host: x', 'A2A-Version: 1.0', 'Content-Type: application/json'];
  socket.write(`${head.join('\r\n')}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  await new Promise((resolve) => socket.once('data', resolve));
  return socket;
}

describe('Open streams', { timeout: 20_000 }, () => {
  let going: Bindings;
  beforeEach(async () => {
    going = await startBindings();
  });

  it('end cleanly when the service stops, which they do not hold up', async () => {
    const hand = new Hand();
    going.operations.subscribeToTask = async () => hand;
    const response = await fetch(`${going.url}${SUBSCRIBE}`, { headers: { 'a2a-version': '1.0' } });
    const reader = response.body!.getReader();
    await hand.give(chunk(1));
    const first = await reader.read();
    expect(Buffer.from(first.value!).toString()).toContain('id: 1');

    await going.app.close();
    expect((await reader.read()).done).toBe(true);
    expect(hand.returned).toBe(true);
    expect(going.streams.count).toBe(0);
  });
});
