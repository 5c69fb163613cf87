import { toBinary, toJsonString } from '@bufbuild/protobuf';
import { type StreamResponse, StreamResponseSchema } from './gen/a2a_pb.js';

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
    this.#json = json;
  }

  /** ProtoJSON on one line, safe inside an SSE `data:` field. */
  get json(): string {
    this.#json ??= escapeLineSeparators(toJsonString(StreamResponseSchema, this.response));
    return this.#json;
  }

  get binary(): Uint8Array {
    this.#binary ??= toBinary(StreamResponseSchema, this.response);
    return this.#binary;
  }
}

/** U+2028 and U+2029 end a line for some readers; JSON may carry them escaped. */
export function escapeLineSeparators(json: string): string {
  return json.replace(/[\u2028\u2029]/g, (c) => (c === '\u2028' ? '\\u2028' : '\\u2029'));
}
