import { toBinary } from '@bufbuild/protobuf';
import { type StreamResponse, StreamResponseSchema } from './gen/a2a_pb.js';
import { encodeMessageText, escapeLineSeparators } from './json.codec.js';

/**
 * One frame of a stream: what happened, its number in the task's log, and its encodings. Each encoding is
 * made at most once and shared by every reader and by the database, so an event costs the same for one
 * subscriber and for a thousand.
 */
export class StreamEvent {
  #json: string | undefined;
  #binary: Uint8Array | undefined;

  constructor(
    readonly response: StreamResponse,
    /** Number in the task's log, from 1, without gaps; undefined for a direct Message. */
    readonly seq: number | undefined,
    json?: string,
  ) {
    this.#json = json && escapeLineSeparators(json);
  }

  /** ProtoJSON on one line, safe inside an SSE `data:` field. */
  get json(): string {
    this.#json ??= encodeMessageText(StreamResponseSchema, this.response);
    return this.#json;
  }

  get binary(): Uint8Array {
    this.#binary ??= toBinary(StreamResponseSchema, this.response);
    return this.#binary;
  }
}
