import { once } from 'node:events';
import { connect } from 'node:net';

const HEADER_BYTES = 9;
const [DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE] = [0, 1, 3, 4, 6, 7, 8];
const [ACK, END_STREAM, END_HEADERS] = [1, 1, 4];
const WINDOW = 2 ** 31 - 1;
const DEFAULT_WINDOW = 65_535;

/**
 * One gRPC connection that sends the same unary call again and again. It writes its HTTP/2 frames itself:
 * grpc-js and node:http2 cost more as clients than the server under test, and would be what is measured.
 * It sends a few bytes and opens the widest window once, so that flow control never comes into play.
 */
export class GrpcLane {
  #socket;
  #call;
  #replyBytes;
  #lastStream = -1;
  #waiting = new Map();
  #rest = Buffer.alloc(0);

  /**
   * @param {{address: string, path: string, metadata: Record<string, string>, request: Buffer,
   *   replyBytes: number}} given every reply must be a message of `replyBytes`
   */
  constructor({ address, path, metadata, request, replyBytes }) {
    const [host, port] = address.split(':');
    this.#socket = connect(Number(port), host).setNoDelay(true);
    this.#socket.on('data', (bytes) => this.#read(bytes));
    this.#socket.on('error', (error) => this.#fail(error));
    const initialWindow = Buffer.concat([uint(4, 2), uint(WINDOW, 4)]);
    this.#socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
    this.#socket.write(frame(SETTINGS, 0, 0, initialWindow));
    this.#socket.write(frame(WINDOW_UPDATE, 0, 0, uint(WINDOW - DEFAULT_WINDOW, 4)));
    const headers = { te: 'trailers', 'content-type': 'application/grpc', ...metadata };
    const message = Buffer.concat([uint(0, 1), uint(request.length, 4), request]);
    this.#call = Buffer.concat([
      frame(HEADERS, END_HEADERS, 0, headerBlock(address, path, headers)),
      frame(DATA, END_STREAM, 0, message),
    ]);
    this.#replyBytes = replyBytes + 5;
  }

  /** Resolves when the reply has come in full; rejects on a reply of another size, which an error is. */
  call() {
    this.#lastStream += 2;
    const stream = this.#lastStream;
    const bytes = Buffer.from(this.#call);
    bytes.writeUInt32BE(stream, 5);
    bytes.writeUInt32BE(stream, HEADER_BYTES + bytes.readUIntBE(0, 3) + 5);
    this.#socket.write(bytes);
    return new Promise((resolve, reject) => this.#waiting.set(stream, { resolve, reject, got: 0 }));
  }

  async close() {
    this.#socket.end();
    await once(this.#socket, 'close');
  }

  #read(bytes) {
    let rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    while (rest.length >= HEADER_BYTES) {
      const end = HEADER_BYTES + rest.readUIntBE(0, 3);
      if (rest.length < end) break;
      this.#take(rest[3], rest[4], rest.readUInt32BE(5), rest.subarray(HEADER_BYTES, end));
      rest = rest.subarray(end);
    }
    this.#rest = rest;
  }

  #take(type, flags, stream, payload) {
    if (type === GOAWAY || type === RST_STREAM) this.#fail(new Error('the server gave the call up'));
    if (type === SETTINGS && !(flags & ACK)) this.#socket.write(frame(SETTINGS, ACK, 0, Buffer.alloc(0)));
    if (type === PING && !(flags & ACK)) this.#socket.write(frame(PING, ACK, 0, payload));
    const call = this.#waiting.get(stream);
    if (!call) return;
    if (type === DATA) call.got += payload.length;
    if ((type === DATA || type === HEADERS) && flags & END_STREAM) {
      this.#waiting.delete(stream);
      if (call.got === this.#replyBytes) call.resolve();
      else call.reject(new Error(`a reply of ${call.got} bytes in place of ${this.#replyBytes}`));
    }
  }

  #fail(error) {
    for (const { reject } of this.#waiting.values()) reject(error);
  }
}

/** HPACK without its tables, but for the method and the scheme: names and values as they are. */
function headerBlock(authority, path, headers) {
  const literal = (text) => Buffer.concat([hpackLength(text.length), Buffer.from(text)]);
  const fields = Object.entries({ ':path': path, ':authority': authority, ...headers });
  const block = fields.flatMap(([name, value]) => [uint(0, 1), literal(name), literal(value)]);
  return Buffer.concat([Buffer.from([0x83, 0x86]), ...block]);
}

/** In seven bits, or those full and the rest in groups of seven (RFC 7541, 5.1). */
function hpackLength(length) {
  if (length < 127) return uint(length, 1);
  const bytes = [127];
  let rest = length - 127;
  for (; rest >= 128; rest >>= 7) bytes.push((rest & 127) | 128);
  return Buffer.from([...bytes, rest]);
}

function frame(type, flags, stream, payload) {
  const head = Buffer.concat([uint(payload.length, 3), Buffer.from([type, flags]), uint(stream, 4)]);
  return Buffer.concat([head, payload]);
}

function uint(value, bytes) {
  const buffer = Buffer.alloc(bytes);
  buffer.writeUIntBE(value, 0, bytes);
  return buffer;
}
