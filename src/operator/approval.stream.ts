import { setTimeout as after } from 'node:timers/promises';
import { type BeforeApplicationShutdown, Injectable, Logger, type MessageEvent } from '@nestjs/common';
import { Config } from '../config/index.js';
import { TaskStore, type WaitChange, WaitLog, type WaitQuery } from '../tasks/index.js';
import { WaitWatch } from './wait.watch.js';
import { resolvedEntry, waitingEntry } from './waiting.entry.js';

const LOOK_MS = 500;
const PAGE = 100;

/**
 * Which tasks wait, as it changes: `waiting` with the task, and `resolved` when it has gone on, each under the number
 * of the change. A reader who gives the last number that it saw is told what came after; one who gives none is first
 * told of all tasks that wait. A wait that begins and ends between two looks is not told.
 */
@Injectable()
export class ApprovalStream implements BeforeApplicationShutdown {
  readonly #stop = new AbortController();

  constructor(
    private readonly watch: WaitWatch,
    private readonly waits: WaitLog,
    private readonly tasks: TaskStore,
    private readonly config: Config,
  ) {}

  /** Goes on until the reader leaves, the service stops, or the store fails: its reader then comes back. */
  async *events(query: Wanted, from: number, reader: AbortSignal): AsyncIterable<MessageEvent> {
    try {
      yield* this.#events(query, from, reader);
    } catch (cause) {
      LOG.warn({ message: 'A stream of waiting tasks broke off', cause });
    }
  }

  async *#events(query: Wanted, from: number, reader: AbortSignal): AsyncIterable<MessageEvent> {
    const signal = AbortSignal.any([reader, this.#stop.signal]);
    let last = from;
    let quietSince = performance.now();
    while (!signal.aborted) {
      await this.watch.look();
      const changes = await this.waits.changes({ ...query, after: last, limit: PAGE });
      for (const change of changes) {
        last = change.number;
        const event = await this.#eventOf(change);
        if (event) yield event;
      }
      if (changes.length === PAGE) continue;
      if (changes.length > 0) quietSince = performance.now();
      else if (performance.now() - quietSince > this.config.sseHeartbeatMs) {
        quietSince = performance.now();
        yield { comment: '' };
      }
      await after(LOOK_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  /** A task that has gone on since is told of once its wait is known to have ended. */
  async #eventOf(change: WaitChange): Promise<MessageEvent | undefined> {
    const { taskId, since, number, kind } = change;
    const found = await this.tasks.find(taskId);
    if (kind === 'resolved') {
      const data = resolvedEntry(change, found?.stored.task.status?.state);
      return { id: String(number), type: kind, data };
    }
    if (!found) return undefined;
    const { stored, scope } = found;
    const data = waitingEntry({ ...stored, scope, since }, this.config.approvalExpiry);
    return { id: String(number), type: kind, data };
  }

  /** An open stream would keep the service from stopping. */
  beforeApplicationShutdown(): void {
    this.#stop.abort();
  }
}

type Wanted = Pick<WaitQuery, 'agent' | 'organisation' | 'state'>;

const LOG = new Logger('Approvals');
