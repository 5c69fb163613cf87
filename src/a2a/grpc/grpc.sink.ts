import { Metadata, type ServerWritableStream } from '@grpc/grpc-js';
import type { StreamEvent } from '../../protocol/index.js';
import type { Call } from '../call.js';
import { goingDown } from '../dispatcher.js';
import type { Fault } from '../faults.js';
import { drained, type Sink } from '../streaming/index.js';
import { statusOf } from './grpc.status.js';

/** Where a reader goes on: what it may send with SubscribeToTask. */
const LAST_EVENT_ID = 'a2a-last-event-id';

/**
 * A gRPC server stream. HTTP/2 has pings of its own, so nothing is sent while there are no events. Messages have no
 * place for the number of an event, so the trailers tell that of the last one.
 */
export class GrpcSink implements Sink {
  /** Resolves when the stream has come to its end, whichever. */
  readonly ended: Promise<void>;
  #last: number | undefined;
  #end!: () => void;

  constructor(
    private readonly stream: ServerWritableStream<unknown, Uint8Array>,
    private readonly call: Call,
    private readonly bytesOf: (event: StreamEvent) => Uint8Array,
  ) {
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  async write(batch: readonly StreamEvent[]): Promise<void> {
    for (const event of batch) {
      if (this.call.caller.over) return;
      this.#last = event.seq ?? this.#last;
      if (!this.stream.write(this.bytesOf(event))) await drained(this.stream, this.call.signal);
    }
  }

  end(): void {
    this.stream.end(this.#tellPlace(new Metadata()));
    this.#end();
  }

  /** grpc-js makes the status of an `error` event and ends the call. */
  fail(fault: Fault): void {
    const status = statusOf(fault);
    this.#tellPlace(status.metadata);
    this.stream.emit('error', status);
    this.#end();
  }

  leave(): void {
    this.fail({ error: goingDown() });
  }

  #tellPlace(trailers: Metadata): Metadata {
    if (this.#last !== undefined) trailers.set(LAST_EVENT_ID, String(this.#last));
    return trailers;
  }
}
