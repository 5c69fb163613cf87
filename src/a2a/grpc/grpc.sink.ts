import type { ServerWritableStream } from '@grpc/grpc-js';
import type { StreamEvent } from '../../protocol/index.js';
import { goingDown } from '../dispatcher.js';
import type { Fault } from '../faults.js';
import { drained, type Sink } from '../streaming/index.js';
import { statusOf } from './grpc.status.js';

/** A gRPC server stream. HTTP/2 has pings of its own, so nothing is sent while there are no events. */
export class GrpcSink implements Sink {
  constructor(
    private readonly call: ServerWritableStream<unknown, Uint8Array>,
    private readonly signal: AbortSignal,
    private readonly bytesOf: (event: StreamEvent) => Uint8Array,
  ) {}

  async write(batch: readonly StreamEvent[]): Promise<void> {
    for (const event of batch) {
      if (this.signal.aborted) return;
      if (!this.call.write(this.bytesOf(event))) await drained(this.call, this.signal);
    }
  }

  end(): void {
    this.call.end();
  }

  /** grpc-js makes the status of an `error` event and ends the call. */
  fail(fault: Fault): void {
    this.call.emit('error', statusOf(fault));
  }

  leave(): void {
    this.fail({ error: goingDown() });
  }
}
