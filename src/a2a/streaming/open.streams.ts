import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { Config } from '../../config/index.js';
import type { EventStream } from '../../protocol/index.js';
import { observe } from '../../telemetry/index.js';
import type { Call } from '../call.js';
import { endSpan } from '../call.span.js';
import { Faults } from '../faults.js';
import { Heartbeat } from './heartbeat.js';
import { type Failure, Pump } from './pump.js';
import type { Sink } from './sink.js';
import { StreamCut } from './task.stream.js';

/** The streams that somebody reads right now. */
@Injectable()
export class OpenStreams implements BeforeApplicationShutdown {
  readonly #calls = new Set<Call>();
  readonly #heartbeat: Heartbeat;
  #goingDown = false;

  constructor(
    private readonly faults: Faults,
    private readonly config: Config,
  ) {
    this.#heartbeat = new Heartbeat(config.sseHeartbeatMs);
    observe('a2a.server.streams.open', (tell) => tell(this.count, {}));
  }

  get count(): number {
    return this.#calls.size;
  }

  /** Carries a stream to its reader until one of them ends, and then ends the sink. */
  deliver(call: Call, stream: EventStream, sink: Sink): void {
    this.#calls.add(call);
    this.#heartbeat.add(sink);
    const longest = this.#longest(call);
    const pump = new Pump(stream, sink, (failure) => {
      clearTimeout(longest);
      this.#heartbeat.remove(sink);
      this.#calls.delete(call);
      this.#end(call, sink, failure);
    });
    if (this.#goingDown) call.caller.dismiss();
    call.caller.onOver(() => pump.stop());
    pump.start();
  }

  #end(call: Call, sink: Sink, failure: Failure | undefined): void {
    const cut = failure?.thrown instanceof StreamCut;
    endSpan(call, cut ? undefined : failure?.thrown);
    if (failure && !cut) sink.fail(this.faults.report(failure.thrown, call));
    else if (cut || (this.#goingDown && call.caller.over)) sink.leave();
    else sink.end();
  }

  /** Ends a stream of 0.3 whose time is over; its task goes on. */
  #longest({ version, caller }: Call): NodeJS.Timeout | undefined {
    const { v03StreamMs } = this.config;
    if (version === '1.0' || v03StreamMs === 0) return undefined;
    return setTimeout(() => caller.dismiss(), v03StreamMs).unref();
  }

  /** An open stream would keep the service from stopping. Its task goes on, here or on another replica. */
  beforeApplicationShutdown(): void {
    this.#goingDown = true;
    for (const { caller } of this.#calls) caller.dismiss();
  }
}
