import type { StreamEvent } from '../protocol/index.js';
import { measure, secondsSince } from '../telemetry/index.js';
import type { EventBus } from './event.bus.js';
import { LiveTable } from './live.table.js';
import type { TaskStore } from './task.store.js';

/** Committed events kept in memory per followed task; a reader further behind reads the table. */
const RING = 256;
/** How often followed tasks are looked up in case a hint was lost, milliseconds. */
const POLL_MS = 1_000;

/**
 * Follows the logs of tasks: what this replica commits comes from memory, the rest from the table. Readers
 * pull, each with its own cursor, so that a slow one costs no memory and holds up nobody.
 */
export class TaskFeed {
  readonly #topics = new LiveTable<Topic>();
  #poll: NodeJS.Timeout | undefined;

  constructor(
    private readonly store: Pick<TaskStore, 'events' | 'versions'>,
    private readonly bus: EventBus,
  ) {
    bus.listen((heard) => {
      if (heard.kind === 'event') this.#topics.get(heard.taskId)?.raise(heard.seq);
      else if (heard.kind === 'resync') void this.#catchUp(this.#topics.values());
    });
  }

  /** Tells readers here, and other replicas, of committed events, in order. */
  publish(taskId: string, events: readonly StreamEvent[]): void {
    const last = events.at(-1)?.seq;
    if (last === undefined) return;
    this.#topics.get(taskId)?.push(events);
    this.bus.tell({ kind: 'event', taskId, seq: last });
  }

  /** Ends every reader: the replica goes down. */
  close(): void {
    for (const topic of this.#topics.values()) end(topic);
  }

  /**
   * Every committed event after `seq`, in order, in batches. Following starts with the call, not with the
   * first `next`: follow, read the task, then {@link Tail.seek} its version, and nothing falls between. Ends
   * when the iterator is returned, which is up to whoever has it. Errors: those of the store.
   */
  follow(taskId: string, seq: number): Tail {
    return new Tail(this.#topic(taskId), seq);
  }

  /** Tasks that are being followed. */
  get size(): number {
    return this.#topics.size;
  }

  #topic(taskId: string): Topic {
    let topic = this.#topics.get(taskId);
    if (!topic) {
      topic = new Topic(taskId, this.store, () => this.#forget(taskId));
      this.#topics.set(taskId, topic);
    }
    this.#poll ??= setInterval(() => void this.#pollQuiet(), POLL_MS).unref();
    return topic;
  }

  #forget(taskId: string): void {
    this.#topics.delete(taskId);
    if (this.#topics.size > 0) return;
    clearInterval(this.#poll);
    this.#poll = undefined;
  }

  /** One look-up for all followed tasks that nothing was heard of since the last. */
  #pollQuiet(): Promise<void> {
    return this.#catchUp(this.#topics.values().filter((topic) => topic.quiet()));
  }

  async #catchUp(topics: readonly Topic[]): Promise<void> {
    if (topics.length === 0) return;
    // One that is about to be created is followed before it is there, and may be there by the time of the answer.
    const begun = topics.filter((topic) => topic.head > 0);
    try {
      const versions = await this.store.versions(topics.map((topic) => topic.taskId));
      for (const [taskId, seq] of versions) this.#topics.get(taskId)?.raise(seq);
      // Erased meanwhile.
      for (const topic of begun) if (!versions.has(topic.taskId)) end(topic);
    } catch {
      // The database is away; the next round asks again.
    }
  }
}

/** What is known of one followed task: its newest number and its newest events. */
class Topic {
  readonly tails = new Set<Tail>();
  #head = 0;
  #raisedAt = 0;
  #ring: StreamEvent[] = [];
  #heard = false;

  constructor(
    readonly taskId: string,
    readonly store: Pick<TaskStore, 'events'>,
    private readonly whenLeft: () => void,
  ) {}

  get head(): number {
    return this.#head;
  }

  /** When the head was heard of, as `performance.now()` has it. */
  get raisedAt(): number {
    return this.#raisedAt;
  }

  quiet(): boolean {
    const quiet = !this.#heard;
    this.#heard = false;
    return quiet;
  }

  push(events: readonly StreamEvent[]): void {
    const first = events[0]?.seq;
    if (first === undefined) return;
    const newest = this.#ring.at(-1)?.seq;
    if (newest !== undefined && first <= newest) return;
    if (newest !== undefined && first > newest + 1) this.#ring.length = 0;
    this.#ring.push(...events);
    if (this.#ring.length > 2 * RING) this.#ring.splice(0, this.#ring.length - RING);
    this.raise(events.at(-1)!.seq!);
  }

  raise(seq: number): void {
    this.#heard = true;
    if (seq <= this.#head) return;
    this.#head = seq;
    this.#raisedAt = performance.now();
    for (const tail of this.tails) tail.wake();
  }

  /** The events after `seq` if memory still has them all. */
  after(seq: number): readonly StreamEvent[] | undefined {
    const oldest = this.#ring[0]?.seq;
    if (oldest === undefined || seq + 1 < oldest) return undefined;
    const events = this.#ring.slice(seq + 1 - oldest);
    return events.length > 0 ? events : undefined;
  }

  leave(tail: Tail): void {
    if (this.tails.delete(tail) && this.tails.size === 0) this.whenLeft();
  }
}

function end(topic: Topic): void {
  for (const tail of topic.tails) void tail.return();
}

type Batch = IteratorResult<readonly StreamEvent[]>;

/**
 * One reader of one task's log. Not a generator: `return` has to end a wait for the next event. While it waits
 * there is one promise and no function that waits along, as there may be thousands of readers.
 */
export class Tail implements AsyncIterableIterator<readonly StreamEvent[]> {
  #done = false;
  #wake: (() => void) | undefined;

  constructor(
    private readonly topic: Topic,
    private seq: number,
  ) {
    topic.tails.add(this);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Goes on after event `seq`; events up to `committed` are known to be there. Only before the first `next`. */
  seek(seq: number, committed = seq): this {
    this.seq = seq;
    this.topic.raise(committed);
    return this;
  }

  next(): Promise<Batch> {
    if (this.#done) return this.return();
    return this.topic.head > this.seq ? this.#read() : this.#change().then(() => this.next());
  }

  async return(): Promise<Batch> {
    if (!this.#done) {
      this.#done = true;
      this.wake();
      this.topic.leave(this);
    }
    return { done: true, value: undefined };
  }

  /** There may be something new, or the end. */
  wake(): void {
    this.#wake?.();
    this.#wake = undefined;
  }

  async #read(): Promise<Batch> {
    const { taskId, store } = this.topic;
    const events = this.topic.after(this.seq) ?? (await store.events(taskId, this.seq, RING));
    if (events.length === 0) await this.#change();
    if (this.#done || events.length === 0) return this.next();
    this.seq = events.at(-1)!.seq!;
    measure('a2a.server.event.lag', secondsSince(this.topic.raisedAt), {});
    return { done: false, value: events };
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}
