import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { StreamEvent } from '../../protocol/index.js';
import type { Call } from '../call.js';
import type { Fault } from '../faults.js';
import { drained, type Sink } from './sink.js';

/** What a binding writes in its `data:` lines. */
export interface SseFrames {
  /** An event's JSON, on one line. */
  event(event: StreamEvent): string;
  /** The binding's own error body, on one line. */
  error(fault: Fault): string;
}

/** Proxies must neither keep, change nor collect what goes by (nginx reads `x-accel-buffering`). */
const HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
};

/** Characters after which a batch is written in parts. */
const PART = 64 * 1024;

/**
 * Server-sent events on the raw response. An event is one `data:` line, written whole, so a heartbeat can only
 * come between two; the events of a batch go out in one write.
 */
export class SseSink implements Sink {
  readonly #response: ServerResponse;

  /** Answers 200 at once, without waiting for an event. */
  constructor(
    reply: FastifyReply,
    private readonly call: Call,
    private readonly frames: SseFrames,
  ) {
    this.#response = reply.hijack().raw;
    this.#response.writeHead(200, { ...Object.fromEntries(call.reply), ...HEADERS });
    this.#response.flushHeaders();
    forget(reply.request);
  }

  async write(batch: readonly StreamEvent[]): Promise<void> {
    let text = '';
    for (const event of batch) {
      if (event.seq !== undefined) text += `id: ${event.seq}\n`;
      text += `data: ${this.frames.event(event)}\n\n`;
      if (text.length < PART) continue;
      await this.#send(text);
      if (this.call.caller.over) return;
      text = '';
    }
    if (text !== '') await this.#send(text);
  }

  /** A reader that is behind needs no sign of life, and would only have more to read. */
  beat(): void {
    if (!this.#response.writableNeedDrain) this.#response.write(': \n\n');
  }

  end(): void {
    this.#response.end();
  }

  fail(fault: Fault): void {
    this.#response.end(`event: error\ndata: ${this.frames.error(fault)}\n\n`);
  }

  /** SSE knows no status at its end: the reader sees that no final state came and subscribes again. */
  leave(): void {
    this.end();
  }

  async #send(text: string): Promise<void> {
    if (!this.#response.write(text)) await drained(this.#response, this.call.signal);
  }
}

/** The server keeps a request until its answer ends, which may take hours: its headers, credentials too, go now. */
function forget({ raw }: FastifyRequest): void {
  raw.headers = {};
  raw.rawHeaders = [];
}
