import { decodeMessage, StreamEvent, StreamResponseSchema, type Task } from '../protocol/index.js';
import { isTerminal, type StoredTask, TaskFold, type TaskStore } from '../tasks/index.js';
import type { PushClaim, PushEvent } from './push.store.js';

/**
 * Most tasks that are kept, and their most size: about the bytes that they take where they are of text, some times that
 * where they are of small JSON values. One alone may be larger.
 */
const MOST = { tasks: 1_000, size: 16 * 1024 * 1024 };
/** What each part of a snapshot counts beside its characters, which in a short one are the least of its memory. */
const PART = 150;
/** Events of a long log that are read at once: a read and the folding of it hold up nobody for long. */
const BATCH = 500;

/**
 * Tasks as they were after the events that are posted, for receivers that want them whole. How far a config has got in
 * its task is kept and goes on with its next claim: making a body out of what is new needs no look at the log, however
 * long the task is. A task that is not kept, as it is new here or others were pushed for since, begins at the nearest
 * whole one that is stored. In memory is what `most` allows, and the tasks whose bodies are being made right now.
 */
export class PastTasks {
  /** By config, the one that was longest without a push first. Who is at work with one has taken it out. */
  readonly #kept = new Map<string, PastTask>();
  #size = 0;

  constructor(
    private readonly store: Pick<TaskStore, 'events' | 'snapshot'>,
    private readonly most = MOST,
  ) {}

  /** Goes on past an event of a claim after which nobody wants the task. */
  pass(claim: PushClaim, event: PushEvent): undefined {
    const past = this.#take(claim);
    if (!past) return;
    past.apply([logged(event)]);
    this.#keep(claim, past);
  }

  /**
   * Writes the task as it was after an event of a claim. Undefined where the log does not tell any more, for want of the
   * chunks of an ended task. `write` gets a task that changes afterwards.
   */
  async at(claim: PushClaim, event: PushEvent, write: (task: Task) => string): Promise<string | undefined> {
    const past = await this.#reach(claim.taskId, logged(event), this.#take(claim));
    if (!past) return undefined;
    const written = write(past.task);
    if (!isTerminal(past.state)) this.#keep(claim, past);
    return written;
  }

  async #reach(taskId: string, event: StreamEvent, kept?: PastTask): Promise<PastTask | undefined> {
    const seq = event.seq!;
    let past = kept && kept.seq <= seq ? kept : await this.#begin(taskId, event);
    past?.apply([event]);
    while (past && past.seq < seq) {
      const events = await this.store.events(taskId, past.seq, Math.min(BATCH, seq - past.seq));
      if (!past.apply(events)) past = await this.#begin(taskId, event, past.seq);
    }
    return past;
  }

  /** A task as near to the event as it is stored whole, and after another event. */
  async #begin(
    taskId: string,
    { seq, response, json }: StreamEvent,
    after = 0,
  ): Promise<PastTask | undefined> {
    const { payload } = response;
    if (payload.case === 'task')
      return new PastTask({ task: payload.value, version: seq!, size: json.length });
    const stored = await this.store.snapshot(taskId, seq!);
    return stored && stored.version > after ? new PastTask(stored) : undefined;
  }

  #take(claim: PushClaim): PastTask | undefined {
    const past = this.#kept.get(keyOf(claim));
    if (past) this.#drop(keyOf(claim), past);
    return past;
  }

  #keep(claim: PushClaim, past: PastTask): void {
    this.#take(claim);
    this.#kept.set(keyOf(claim), past);
    this.#size += past.size;
    for (const [key, oldest] of this.#kept) {
      const isTooMuch = this.#kept.size > this.most.tasks || this.#size > this.most.size;
      if (!isTooMuch || oldest === past) break;
      this.#drop(key, oldest);
    }
  }

  #drop(key: string, past: PastTask): void {
    this.#kept.delete(key);
    this.#size -= past.size;
  }
}

/** A task as it was after an event, then after the next ones. */
class PastTask {
  readonly #fold: TaskFold;
  #seq: number;
  #size: number;

  constructor({ task, version, size }: StoredTask) {
    this.#fold = new TaskFold(task);
    this.#seq = version;
    const parts = [...task.artifacts, ...task.history].reduce((sum, { parts }) => sum + parts.length, 0);
    this.#size = size + PART * parts;
  }

  get task(): Task {
    return this.#fold.task;
  }

  get state() {
    return this.#fold.state;
  }

  get seq(): number {
    return this.#seq;
  }

  get size(): number {
    return this.#size;
  }

  /** Applies the events as far as each is the next one. False where there is another, or none at all. */
  apply(events: readonly StreamEvent[]): boolean {
    for (const { seq, response, json } of events) {
      if (seq !== this.#seq + 1) return false;
      this.#fold.apply(response);
      this.#seq = seq;
      this.#size += json.length;
    }
    return events.length > 0;
  }
}

const keyOf = ({ taskId, target }: PushClaim) => `${taskId}/${target.id}`;
const logged = ({ seq, json }: PushEvent) =>
  new StreamEvent(decodeMessage(StreamResponseSchema, JSON.parse(json)), seq, json);
