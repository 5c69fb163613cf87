import { once } from 'node:events';
import { connect } from 'node:net';

const LAST_CHUNK = '\r\n0\r\n\r\n';

let lastId = 0;

/**
 * The JSON-RPC body that sends one message with a messageId nobody has used.
 * @param {'SendMessage' | 'SendStreamingMessage' | 'message/send'} method the last one is A2A 0.3's
 * @param {string} text ASCII
 * @param {object} [configuration] of the request
 */
export function sendBody(method, text, configuration) {
  lastId += 1;
  const messageId = `bench-${process.pid}-${process.hrtime.bigint()}-${lastId}`;
  const message =
    method === 'message/send'
      ? { kind: 'message', messageId, role: 'user', parts: [{ kind: 'text', text }] }
      : { messageId, role: 'ROLE_USER', parts: [{ text }] };
  return JSON.stringify({ jsonrpc: '2.0', id: lastId, method, params: { message, configuration } });
}

/**
 * One keep-alive connection that carries one request at a time. It reads and writes HTTP/1.1 itself: the load
 * shares its core with Postgres, and any HTTP client would take from it twice as much. An answer stays raw
 * until {@link bodyOf}, so that nothing is parsed while the clock runs.
 */
export class HttpLane {
  #socket;
  #head;
  #pieces = [];
  #bytes = 0;
  #wanted;
  #waiting;

  /**
   * @param {string} url where JSON-RPC is served
   * @param {string} version of A2A
   * @param {Record<string, string>} headers to be sent along
   */
  constructor(url, version = '1.0', headers = {}) {
    const { hostname, port, host, pathname } = new URL(url);
    const all = { host, 'a2a-version': version, 'content-type': 'application/json', ...headers };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    this.#head = `POST ${pathname} HTTP/1.1\r\n${lines.join('')}`;
    this.#socket = connect(Number(port), hostname).setNoDelay(true);
    this.#socket.on('data', (piece) => this.#read(piece));
    this.#socket.on('error', (error) => this.#waiting?.reject(error));
    this.#socket.on('close', () => this.#waiting?.reject(new Error('the server closed the connection')));
  }

  /**
   * @param {string} body ASCII
   * @returns {Promise<Buffer>} the whole answer, head included
   */
  post(body) {
    this.#socket.write(`${this.#head}content-length: ${body.length}\r\n\r\n${body}`);
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
  }

  async close() {
    this.#waiting = undefined;
    if (this.#socket.closed) return;
    this.#socket.end();
    await once(this.#socket, 'close');
  }

  #read(piece) {
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    if (this.#wanted === undefined) this.#wanted = wantedBytes(this.#pieces);
    const complete = this.#wanted === 'chunked' ? this.#endsChunked(piece) : this.#bytes >= this.#wanted;
    if (!complete) return;
    const answer = this.#pieces.length === 1 ? piece : Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#bytes = 0;
    this.#wanted = undefined;
    this.#waiting.resolve(answer);
  }

  /** JSON and SSE hold no bare CR LF, so these bytes at the end are the end. */
  #endsChunked(piece) {
    const tail = piece.length >= LAST_CHUNK.length ? piece : Buffer.concat(this.#pieces.slice(-8));
    return tail.latin1Slice(Math.max(0, tail.length - LAST_CHUNK.length)) === LAST_CHUNK;
  }
}

/** Bytes of the whole answer, `chunked`, or undefined while the head is not complete. */
function wantedBytes(pieces) {
  const start = Buffer.concat(pieces);
  const end = start.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const head = start.latin1Slice(0, end);
  if (!head.startsWith('HTTP/1.1 200')) throw new Error(start.toString().slice(0, 500));
  const length = /\r\ncontent-length: (\d+)/i.exec(head);
  return length ? end + 4 + Number(length[1]) : 'chunked';
}

/** The body of an answer as text, chunked framing taken off. */
export function bodyOf(answer) {
  const start = answer.indexOf('\r\n\r\n') + 4;
  const head = answer.latin1Slice(0, start);
  if (!/\r\ntransfer-encoding: chunked/i.test(head)) return answer.toString('utf8', start);
  const chunks = [];
  for (let at = start; ; ) {
    const lineEnd = answer.indexOf('\r\n', at);
    const length = Number.parseInt(answer.latin1Slice(at, lineEnd), 16);
    if (length === 0) return Buffer.concat(chunks).toString();
    chunks.push(answer.subarray(lineEnd + 2, lineEnd + 2 + length));
    at = lineEnd + 2 + length + 2;
  }
}
