import type { AgentSettings } from '../agents/index.js';
import {
  encodeMessageText,
  Role,
  type StreamEvent,
  type StreamResponse,
  type Task,
  TaskSchema,
  TaskState,
} from '../protocol/index.js';
import { isTerminal, TaskFold, type TurnClaim, type TurnEnd, type TurnWrite } from '../tasks/index.js';
import { countState } from './task.metrics.js';
import type { TurnServices } from './turn.services.js';

/** `ended`: the lease is given back. `again`: a message waits. `gone`: the lease was lost, nothing was written. */
export type Ending = 'ended' | 'again' | 'gone';

/** Events between snapshots at first; the gap doubles, so that snapshots cost linear time over a long turn. */
const FIRST_SNAPSHOT = 512;

type Tail = Pick<TurnWrite, 'end' | 'direct'>;

/** The task has outgrown what may be read at once. */
export class TaskTooLarge extends Error {
  override name = 'TaskTooLarge';
}

/**
 * A turn's way into the log: a bounded window of events in flight, the folded task for snapshots, the count
 * that makes repeated writes harmless. Events are published once they are committed.
 */
export class TurnLog {
  #fold: TaskFold;
  /** Number of the last event, in flight included, as far as is known. */
  #seq: number;
  #written: number;
  /** Taken in, to be written together. */
  #gathered: StreamResponse[] = [];
  #inFlight = 0;
  #sinceSnapshot = 0;
  #snapshotGap = FIRST_SNAPSHOT;
  /** Characters of JSON that the task comes to at most: artifacts that were replaced count until it is measured. */
  #size: number;
  /** A message came between: the order of the log has to be read before the next snapshot. */
  #outdated = false;
  #lost = false;
  #failed: unknown;
  #roomMade: (() => void) | undefined;
  direct = false;

  constructor(
    private readonly claim: TurnClaim,
    private readonly settings: AgentSettings,
    private readonly services: TurnServices,
    private readonly onLost: () => void,
  ) {
    this.#fold = new TaskFold(claim.stored.task);
    this.#seq = claim.stored.version;
    this.#written = claim.written;
    this.#size = claim.stored.size;
  }

  get state(): TaskState {
    return this.#fold.state;
  }

  delivered(): void {
    this.#outdated = true;
  }

  /** Resolves when the window has room. Throws what made a write fail. */
  async room(): Promise<void> {
    while (this.#inFlight >= this.settings.window && !this.#lost) {
      await new Promise<void>((resolve) => (this.#roomMade = resolve));
    }
    if (this.#failed) throw this.#failed;
  }

  /** Takes an event in: it is committed with all that came since the last `send`, or none of them is. */
  append(event: StreamResponse): void {
    this.#fold.apply(event);
    this.#gathered.push(event);
  }

  /** Sends what was taken in on its way; returns before it is committed. */
  send(): void {
    if (this.#gathered.length === 0) return;
    const snapshot = this.#sinceSnapshot >= this.#snapshotGap && !this.#outdated;
    if (snapshot) this.#snapshotGap *= 2;
    void this.#write({}, snapshot);
  }

  /** The event that ends the turn: terminal, or INPUT_REQUIRED. */
  async end(event: StreamResponse, read: number): Promise<Ending> {
    await this.#catchUp();
    this.append(event);
    return this.#finish({ end: this.#reading(read) });
  }

  /** Ends the turn as it stands (an approval is awaited). */
  async rest(read: number): Promise<Ending> {
    await this.#catchUp();
    return this.#finish({ end: this.#reading(read) });
  }

  #reading(read: number): TurnEnd {
    const { forwardHeaders } = this.settings;
    return { read, forgetsHeaders: forwardHeaders.length > 0 || this.claim.request.headers !== undefined };
  }

  /** Ends the task by the service's own status event, whatever waits. */
  close(event: StreamResponse): Promise<Ending> {
    if (isTerminal(this.state) || this.#lost) return Promise.resolve('gone');
    return this.end(event, this.#seq);
  }

  /** The whole answer is a direct Message: the task goes out of sight. */
  async reply(event: StreamResponse): Promise<Ending> {
    this.direct = true;
    if (event.payload.case === 'message') event.payload.value.taskId = '';
    this.append(event);
    return this.#finish({ end: this.#reading(this.#seq), direct: true });
  }

  async #finish(tail: Tail): Promise<Ending> {
    const ended = await this.#write(tail, !tail.direct);
    if (ended === undefined) return 'gone';
    return ended || tail.direct || isTerminal(this.state) ? 'ended' : 'again';
  }

  async #write(tail: Tail, snapshot: boolean): Promise<boolean | undefined> {
    const write = this.#next(tail, snapshot);
    const expected = this.#seq;
    this.#inFlight += write.events.length;
    try {
      const committed = await this.services.store.append(write);
      if (!committed) {
        this.#lost = true;
        this.onLost();
        return undefined;
      }
      this.services.feed.publish(this.claim.lease.taskId, committed.events);
      this.#grow(committed.events);
      if (write.state !== undefined) countState(this.claim.scope.agent, write.state);
      // A message came between that nobody has told us of: another replica took it, or the news is on its way.
      if ((committed.events.at(-1)?.seq ?? expected) !== expected) this.#outdated = true;
      return committed.ended;
    } catch (error) {
      this.#failed ??= error;
      this.#lost = true;
      this.onLost();
      return undefined;
    } finally {
      this.#inFlight -= write.events.length;
      this.#roomMade?.();
    }
  }

  #grow(events: readonly StreamEvent[]): void {
    for (const { json } of events) this.#size += json.length;
    if (this.#size <= this.settings.maxTaskSize) return;
    this.#size = encodeMessageText(TaskSchema, this.#fold.task).length;
    if (this.#size > this.settings.maxTaskSize) this.#failed ??= new TaskTooLarge();
  }

  #next(tail: Tail, snapshot: boolean): TurnWrite {
    const events = this.#gathered;
    this.#gathered = [];
    let status: { state?: TaskState; statusAt?: number } = {};
    for (const event of events) status = statusOf(event) ?? status;
    if (tail.direct) status = { state: TaskState.COMPLETED };
    if (isTerminal(this.state) && this.settings.compactText) compact(this.#fold.task);
    const written = this.#written;
    this.#written += events.length;
    this.#seq += events.length;
    this.#sinceSnapshot = snapshot ? 0 : this.#sinceSnapshot + events.length;
    const whole = snapshot ? { task: this.#fold.task, seq: this.#seq } : undefined;
    const { lease, request } = this.claim;
    const { traceparent } = request;
    return { lease, traceparent, written, events, ...status, snapshot: whole, ...tail };
  }

  /** Puts the fold into the log's own order after a message came between. */
  async #catchUp(): Promise<void> {
    if (!this.#outdated) return;
    while (this.#inFlight > 0 && !this.#lost) {
      await new Promise<void>((resolve) => (this.#roomMade = resolve));
    }
    this.#outdated = false;
    const now = await this.services.store.reload(this.claim.lease);
    if (!now) return;
    this.#fold = new TaskFold(now.stored.task);
    for (const event of this.#gathered) this.#fold.apply(event);
    this.#seq = now.stored.version;
    this.#size = now.stored.size;
  }
}

function statusOf({ payload }: StreamResponse): { state: TaskState; statusAt: number } | undefined {
  if (payload.case !== 'statusUpdate') return undefined;
  const { state, timestamp } = payload.value.status!;
  return { state, statusAt: Number(timestamp!.seconds) * 1000 + timestamp!.nanos / 1e6 };
}

/** Joins adjacent plain text parts: an answer of a thousand chunks is one text. */
function compact(task: Task): void {
  for (const artifact of task.artifacts) {
    const parts: typeof artifact.parts = [];
    for (const part of artifact.parts) {
      const last = parts.at(-1);
      const joins =
        last?.content.case === 'text' &&
        part.content.case === 'text' &&
        last.mediaType === part.mediaType &&
        !last.metadata &&
        !part.metadata;
      if (!joins) parts.push(part);
      else
        parts[parts.length - 1] = {
          ...last,
          content: { case: 'text', value: `${last.content.value}${part.content.value}` },
        };
    }
    artifact.parts = parts;
  }
}

export const isCallersMessage = ({ payload }: StreamResponse): boolean =>
  payload.case === 'message' && payload.value.role === Role.USER;
