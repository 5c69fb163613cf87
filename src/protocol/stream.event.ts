import { toBinary } from '@bufbuild/protobuf';
import { extensionsIn, withoutExtensions } from './extensions/index.js';
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
  #extensions: readonly string[] | undefined;
  #bare: Map<string, StreamEvent> | undefined;

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

  /** The service's own extensions that have data in it; none in nearly every event. */
  get extensions(): readonly string[] {
    this.#extensions ??= extensionsIn(this.response);
    return this.#extensions;
  }

  /** The event as readers see it who have not activated these extensions: the same one for all of them. */
  without(hidden: ReadonlySet<string>): StreamEvent {
    const found = this.extensions.filter((uri) => hidden.has(uri));
    if (found.length === 0) return this;
    const key = found.join();
    this.#bare ??= new Map();
    let event = this.#bare.get(key);
    if (event === undefined) {
      event = new StreamEvent(withoutExtensions(this.response, hidden), this.seq);
      this.#bare.set(key, event);
    }
    return event;
  }
}
