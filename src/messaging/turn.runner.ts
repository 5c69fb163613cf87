import { setTimeout as after } from 'node:timers/promises';
import type { JsonObject } from '@bufbuild/protobuf';
import { Injectable, Logger } from '@nestjs/common';
import { type AgentDefinition, AgentRegistry, majorOf } from '../agents/index.js';
import type { StreamEvent } from '../protocol/index.js';
import {
  Clock,
  EventBus,
  type FreePlace,
  Ids,
  type Lease,
  LiveTable,
  TaskFeed,
  TaskStore,
  type TurnClaim,
} from '../tasks/index.js';
import { observe } from '../telemetry/index.js';
import { Turn } from './turn.js';
import { TurnSpan } from './turn.span.js';

const HAND_OVER_TRIES = 5;
const HAND_OVER_PAUSE_MS = 500;

/** A turn of this replica: running, or waiting for a free place. */
interface Place {
  readonly turn: Turn;
  readonly lease: Lease;
  readonly span: TurnSpan;
}

/**
 * Runs turns, detached from the calls that caused them: at most `concurrency` per agent at once. What is above
 * that is given back to the database, where any replica with a free place finds it.
 */
@Injectable()
export class TurnRunner {
  readonly #places = new LiveTable<Place>();
  /** How many of each agent, by version. */
  readonly #running = new Map<string, Map<string, number>>();
  #onPlace: (() => void) | undefined;
  #onIdle: (() => void) | undefined;
  #draining = false;

  constructor(
    private readonly agents: AgentRegistry,
    private readonly store: TaskStore,
    private readonly feed: TaskFeed,
    private readonly clock: Clock,
    private readonly ids: Ids,
    private readonly bus: EventBus,
  ) {
    bus.listen((heard) => {
      if (heard.kind === 'event') void this.fetch(heard.taskId, heard.seq);
      else if (heard.kind === 'cancel') this.cancel(heard.taskId);
    });
    observe('a2a.server.turns.running', (tell) => {
      for (const [agent, running] of this.#running)
        tell(
          [...running.values()].reduce((sum, count) => sum + count, 0),
          { agent },
        );
    });
  }

  /**
   * Starts the claimed turn and returns at once. Undefined: it does not run here. It was given back for want of
   * a place, or since other replicas alone serve its agent, or its version.
   */
  start(claim: TurnClaim): Turn | undefined {
    const { scope, agentVersion } = claim;
    const agent = this.agents.heir(scope.agent, agentVersion);
    if (!agent || !this.#hasPlace(agent)) {
      void this.#giveBack(claim.lease);
      return undefined;
    }
    const running = this.#running.get(agent.id) ?? new Map<string, number>();
    running.set(agent.version, (running.get(agent.version) ?? 0) + 1);
    this.#running.set(agent.id, running);
    const place = this.#place(claim, agent);
    void this.#run(place, agent);
    return place.turn;
  }

  get(taskId: string): Turn | undefined {
    return this.#places.get(taskId)?.turn;
  }

  /** Hands a committed message or approval to the task's turn, if it runs here. */
  deliver(taskId: string, event: StreamEvent): void {
    this.get(taskId)?.deliver(event);
  }

  /** Cancels the task's turn, if it runs here. */
  cancel(taskId: string, metadata?: JsonObject): void {
    this.get(taskId)?.cancel(metadata);
  }

  /** Reads what other replicas have delivered to a turn that runs here, up to `seq`. */
  async fetch(taskId: string, seq: number): Promise<void> {
    const turn = this.get(taskId);
    if (!turn || seq <= turn.newestDelivery) return;
    try {
      for (const event of await this.store.deliveries(taskId, turn.read)) turn.deliver(event);
    } catch (error) {
      LOG.debug({ message: 'deliveries could not be read; the next heartbeat tries again', cause: error });
    }
  }

  /** What can take another turn here: agents, and of those the major versions that have place throughout. */
  free(): FreePlace[] {
    return this.agents.list().flatMap(({ id: agent }) => {
      const versions = this.agents.versions(agent);
      const full = new Set(
        versions.filter((one) => !this.#hasPlace(one)).map(({ version }) => majorOf(version)),
      );
      const majors = new Set(versions.map(({ version }) => majorOf(version)));
      return [...majors].flatMap((major) => (full.has(major) ? [] : [{ agent, major }]));
    });
  }

  /** Calls back when an agent that had no place left has one again. */
  onPlace(free: () => void): void {
    this.#onPlace = free;
  }

  /** Takes no more turns, gives running ones `ms` to end, and hands the rest over to other replicas. */
  async drain(ms: number): Promise<void> {
    this.#draining = true;
    await this.#idle(ms);
    const turns = this.#places.values();
    if (turns.length === 0) return;
    // Agents first: as busy as they may be, they must not keep the database from hearing of it.
    for (const { turn } of turns) turn.loseLease();
    await this.#handOver(turns.map(({ lease }) => lease));
    this.bus.tell({ kind: 'turn' });
  }

  /** What is not handed over counts as a crash, which many an agent does not survive. */
  async #handOver(leases: readonly Lease[], tries = HAND_OVER_TRIES): Promise<void> {
    try {
      await this.store.release(leases, true);
    } catch (error) {
      if (tries <= 1) throw error;
      await after(HAND_OVER_PAUSE_MS);
      await this.#handOver(leases, tries - 1);
    }
  }

  /** The leases to keep alive. */
  leases(): Lease[] {
    return this.#places.values().map(({ lease }) => lease);
  }

  get size(): number {
    return this.#places.size;
  }

  /** Resolves when no turn is left, or after the time. */
  async #idle(ms: number): Promise<void> {
    if (this.#places.size === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#onIdle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #place(claim: TurnClaim, agent: AgentDefinition): Place {
    const { store, feed, clock, ids } = this;
    const older = this.#places.get(claim.lease.taskId);
    if (older && older.lease.token !== claim.lease.token) older.turn.loseLease();
    const span = new TurnSpan(claim);
    const turn = new Turn(span.claim, agent, { store, feed, clock, ids });
    const place = { turn, lease: claim.lease, span };
    this.#places.set(claim.lease.taskId, place);
    void this.fetch(claim.lease.taskId, claim.inboxSeq);
    return place;
  }

  async #run(place: Place, agent: AgentDefinition): Promise<void> {
    const { lease } = place;
    try {
      for (let now: Place | undefined = place; now; ) {
        const { turn, span }: Place = now;
        const again: boolean = await span.around(turn);
        now = again ? await this.#next(lease, agent) : undefined;
      }
    } catch (error) {
      LOG.error({ message: 'a turn broke off', agent: agent.id, task: lease.taskId, cause: error });
    } finally {
      this.#leave(agent, lease);
    }
  }

  /** The turn for a message that came while the last one ran. */
  async #next(lease: Lease, agent: AgentDefinition): Promise<Place | undefined> {
    const claim = await this.store.reload(lease);
    return claim && this.#place(claim, agent);
  }

  #hasPlace({ id, version, settings }: AgentDefinition): boolean {
    return !this.#draining && (this.#running.get(id)?.get(version) ?? 0) < settings.concurrency;
  }

  async #giveBack(lease: Lease): Promise<void> {
    try {
      await this.store.release([lease], false);
      this.bus.tell({ kind: 'turn' });
    } catch (error) {
      LOG.warn({ message: 'a turn waits for its lease to run out', task: lease.taskId, cause: error });
    }
  }

  #leave(agent: AgentDefinition, { taskId, token }: Lease): void {
    const full = !this.#hasPlace(agent);
    const running = this.#running.get(agent.id)!;
    running.set(agent.version, running.get(agent.version)! - 1);
    if (this.#places.get(taskId)?.lease.token === token) this.#places.delete(taskId);
    if (this.#places.size === 0) this.#onIdle?.();
    if (full) this.#onPlace?.();
  }
}

const LOG = new Logger('TurnRunner');
