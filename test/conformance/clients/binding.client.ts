import type { JsonObject } from '@bufbuild/protobuf';
import { isStreaming, type OperationName } from '../../../src/protocol/index.js';
import type { Refusal } from './refusal.js';

/** HTTP headers or gRPC metadata, by lower-case names. */
export type Headers = Readonly<Record<string, string>>;

/** What came back on a call, in one form for every binding. Everything is ProtoJSON. */
export interface Reply {
  readonly result?: JsonObject;
  /** The frames of a stream, where the call opened one and it came to its end. */
  readonly frames?: JsonObject[];
  readonly refusal?: Refusal;
  readonly headers: Headers;
}

/** A stream that is being read. */
export class OpenStream {
  constructor(
    private readonly frames: AsyncIterator<JsonObject>,
    readonly headers: Headers,
    /** Cuts the connection or cancels the call. */
    readonly leave: () => void,
  ) {}

  /** Undefined at the end. Rejects with a {@link Refused} when the stream ends with an error. */
  async next(): Promise<JsonObject | undefined> {
    const { done, value } = await this.frames.next();
    return done ? undefined : value;
  }

  async rest(): Promise<JsonObject[]> {
    const all: JsonObject[] = [];
    for (let frame = await this.next(); frame; frame = await this.next()) all.push(frame);
    return all;
  }
}

/** A call was answered with an error where the test wanted none. */
export class Refused extends Error {
  constructor(readonly refusal: Refusal) {
    super(`refused: ${JSON.stringify(refusal)}`);
  }
}

/** A client of one binding, written from the specification and sharing no code with the service's controllers. */
export abstract class BindingClient {
  abstract readonly binding: 'JSON-RPC' | 'HTTP+JSON' | 'gRPC';
  readonly version: '1.0' | '0.3' = '1.0';

  protected abstract unary(operation: OperationName, request: JsonObject, headers: Headers): Promise<Reply>;

  /** A stream, or the plain error that came instead. */
  protected abstract open(
    operation: OperationName,
    request: JsonObject,
    headers: Headers,
  ): Promise<OpenStream | Reply>;

  close(): void {}

  /** Makes a call to its end. `headers` come beside `A2A-Version: 1.0` or replace it. */
  async call(operation: OperationName, request: JsonObject = {}, headers: Headers = {}): Promise<Reply> {
    const sent = { 'a2a-version': '1.0', ...headers };
    if (!isStreaming(operation)) return this.unary(operation, request, sent);
    const opened = await this.open(operation, request, sent);
    return opened instanceof OpenStream ? { frames: await opened.rest(), headers: opened.headers } : opened;
  }

  /** @throws Refused */
  async result(operation: OperationName, request?: JsonObject, headers?: Headers): Promise<JsonObject> {
    const { result, refusal } = await this.call(operation, request, headers);
    if (!result) throw new Refused(refusal!);
    return result;
  }

  /** @throws Refused */
  async stream(
    operation: OperationName,
    request: JsonObject = {},
    headers: Headers = {},
  ): Promise<OpenStream> {
    const opened = await this.open(operation, request, { 'a2a-version': '1.0', ...headers });
    if (!(opened instanceof OpenStream)) throw new Refused(opened.refusal!);
    return opened;
  }
}
