import { Logger } from '@nestjs/common';
import { type AgentDefinition, type AgentEvents, AgentFailure, type TurnAbort } from '../agents/index.js';
import { type StreamEvent, type StreamResponse, TaskState } from '../protocol/index.js';
import { isInterrupted, isTerminal, type TurnClaim, transition } from '../tasks/index.js';
import { count, traceIdOf } from '../telemetry/index.js';
import { AgentOutput, InvalidAgentOutput } from './agent.output.js';
import { REASONS, type Reason, reasonMetadata } from './failure.reason.js';
import { RunningTurnContext } from './turn.context.js';
import { TurnInbox } from './turn.inbox.js';
import { type Ending, TaskTooLarge, TurnLog } from './turn.log.js';
import type { TurnServices } from './turn.services.js';

/** How often within the inactivity limit a turn looks for silence. */
const WATCHES = 20;

/** Why a turn stopped waiting for its agent. */
type Stop = 'grace-over' | 'inactive' | 'lease-lost';

/**
 * One turn of one task: the agent's events on their way into the log.
 *
 *   running --terminal state--------------------------> ended (what the agent says after it is dropped)
 *     |  \--INPUT_REQUIRED, or the iterable ends------> ended, unless an unread message waits: the next turn
 *     |--cancel--> cancelling --iterable ends, or grace over--> ended as CANCELED
 *     |--nothing yielded for too long-----------------> ended as FAILED
 *     `--lease lost-----------------------------------> gone: nothing more is written
 *
 * A first Message is held back until it is known to be the whole answer: then it is a direct reply, or, where
 * the task was shown already, completes the task.
 */
export class Turn {
  readonly #abort = new AbortController();
  readonly #log: TurnLog;
  readonly #output: AgentOutput;
  readonly #inbox: TurnInbox;
  readonly #context: RunningTurnContext;
  #iterator: AsyncIterator<AgentEvents> | undefined;
  #stop: Stop | undefined;
  #onStop: ((stop: Stop) => void) | undefined;
  /** Since when the agent has been silent; undefined while it waits for us. */
  #waitingSince: number | undefined;
  #cancelled: { metadata?: TurnClaim['request']['metadata'] } | undefined;
  #grace: NodeJS.Timeout | undefined;
  /** Somebody was shown the task, or the agent has made it one: no direct reply any more. */
  #announced: boolean;
  #yielded = 0;
  readonly #closedArtifacts = new Set<string>();

  constructor(
    readonly claim: TurnClaim,
    private readonly agent: AgentDefinition,
    services: TurnServices,
  ) {
    const { task } = claim.stored;
    this.#output = new AgentOutput(task, services.clock, services.ids);
    this.#log = new TurnLog(claim, agent.settings, services, () => this.#leave('lease-lost'));
    this.#inbox = new TurnInbox(claim.trigger.seq!, this.#abort.signal);
    this.#context = new RunningTurnContext(claim, this.#inbox, this.#abort.signal, services.store);
    this.#announced = !agent.settings.directReplies || claim.trigger.seq !== 1 || claim.attempt > 1;
  }

  /** Runs to the end of the turn. True: a message waits, another turn is due under the same lease. */
  async run(): Promise<boolean> {
    const watch = this.#watch();
    try {
      const stopped = new Promise<Stop>((resolve) => (this.#onStop = resolve));
      if (this.#stop) this.#onStop!(this.#stop);
      const ending = await Promise.race([
        this.#converse().catch((error: unknown) => this.#broken(error)),
        stopped.then((stop) => this.#stopped(stop)),
      ]);
      return ending === 'again';
    } finally {
      clearInterval(watch);
      clearTimeout(this.#grace);
      if (!this.#abort.signal.aborted) this.#abort.abort('shutdown' satisfies TurnAbort);
    }
  }

  /** A message or approval for this task was committed while the turn runs. */
  deliver(event: StreamEvent): void {
    if (this.#inbox.put(event)) this.#log.delivered();
  }

  get state(): TaskState {
    return this.#log.state;
  }

  /** Number of the newest message or approval that the turn knows of. */
  get newestDelivery(): number {
    return this.#inbox.newest;
  }

  /** Number up to which the agent has read. */
  get read(): number {
    return this.#inbox.read;
  }

  /**
   * Somebody is about to be shown the task. False: too late, the agent has answered directly.
   */
  announce(): boolean {
    if (this.#log.direct) return false;
    this.#announced = true;
    return true;
  }

  /** Tells the agent to stop; after the grace the task is CANCELED without it. Once; further calls do nothing. */
  cancel(metadata?: TurnClaim['request']['metadata']): void {
    if (this.#cancelled) return;
    this.#cancelled = { metadata };
    this.#abort.abort('cancelled' satisfies TurnAbort);
    this.#grace = setTimeout(() => this.#leave('grace-over'), this.agent.settings.cancelGraceMs);
    this.agent.executor
      .cancel?.(this.#context)
      .catch((error: unknown) => this.#warn('cancel hook failed', error));
  }

  loseLease(): void {
    this.#leave('lease-lost');
  }

  async #converse(): Promise<Ending> {
    if (this.#cancelled) return this.#cancelledEnding();
    const iterator = this.agent.executor.execute(this.#context)[Symbol.asyncIterator]();
    this.#iterator = iterator;
    let held: StreamResponse | undefined;
    for (;;) {
      await this.#log.room();
      this.#waitingSince = performance.now();
      const step = await iterator.next();
      this.#waitingSince = undefined;
      if (this.#stop) return 'gone';
      if (step.done) return this.#finished(held);
      for (const event of [step.value].flat().flatMap((said) => this.#output.events(said))) {
        this.#yielded++;
        if (this.#mayBeWhole(event)) {
          held = event;
          continue;
        }
        if (held) await this.#take(held);
        held = undefined;
        this.#announced = true;
        const ending = await this.#take(event);
        if (!ending) continue;
        this.#release();
        return ending;
      }
      this.#log.send();
    }
  }

  #mayBeWhole(event: StreamResponse): boolean {
    return event.payload.case === 'message' && this.#yielded === 1;
  }

  /** Looks now and then whether the agent was silent for too long: cheaper than a timer for each event. */
  #watch(): NodeJS.Timeout {
    const limit = this.agent.settings.inactivityMs;
    return setInterval(
      () => {
        if (this.#waitingSince === undefined || isInterrupted(this.#log.state)) return;
        if (performance.now() - this.#waitingSince >= limit) this.#leave('inactive');
      },
      Math.max(limit / WATCHES, 1),
    );
  }

  /** Logs one event. Says how the turn ended, if it did. */
  async #take(event: StreamResponse): Promise<Ending | undefined> {
    const { payload } = event;
    if (payload.case === 'message') {
      return this.#take(this.#output.status(this.#ongoing(), payload.value));
    }
    if (payload.case === 'artifactUpdate' && !this.#openArtifact(payload.value)) return undefined;
    if (payload.case === 'statusUpdate') {
      const state = payload.value.status!.state;
      if (transition(this.#log.state, state) === 'drop') {
        count('a2a.server.events.dropped', { agent: this.agent.id });
        return undefined;
      }
      if (isTerminal(state) || state === TaskState.INPUT_REQUIRED) {
        return this.#log.end(event, this.#inbox.read);
      }
    }
    this.#log.append(event);
    return undefined;
  }

  /** A Message beside other events is talk: it keeps the state, or makes the task WORKING. */
  #ongoing(): TaskState {
    return this.#log.state === TaskState.SUBMITTED ? TaskState.WORKING : this.#log.state;
  }

  /** An artifact whose last chunk was given takes no more chunks; it can only be replaced. */
  #openArtifact({
    artifact,
    append,
    lastChunk,
  }: {
    artifact?: { artifactId: string };
    append: boolean;
    lastChunk: boolean;
  }) {
    const id = artifact!.artifactId;
    if (append && this.#closedArtifacts.has(id)) {
      count('a2a.server.events.dropped', { agent: this.agent.id });
      this.#warn(`chunk after the last one of artifact ${id} dropped`);
      return false;
    }
    if (lastChunk) this.#closedArtifacts.add(id);
    else this.#closedArtifacts.delete(id);
    return true;
  }

  /** The iterable has ended by itself. */
  async #finished(held: StreamResponse | undefined): Promise<Ending> {
    if (held && this.#announced) return this.#log.end(this.#answer(held), this.#inbox.read);
    if (held) return this.#log.reply(held);
    if (this.#cancelled) return this.#cancelledEnding();
    if (this.#yielded === 0 && this.#inbox.read === this.claim.trigger.seq) {
      return this.#log.close(this.#failure(REASONS.invalidAgentResponse));
    }
    if (isInterrupted(this.#log.state)) return this.#log.rest(this.#inbox.read);
    return this.#log.end(this.#output.status(TaskState.COMPLETED), this.#inbox.read);
  }

  /** A direct answer that came after the task was shown completes it. */
  #answer({ payload }: StreamResponse): StreamResponse {
    return this.#output.status(TaskState.COMPLETED, payload.case === 'message' ? payload.value : undefined);
  }

  /** Ends the turn over the agent's head; what it still says is dropped. */
  async #stopped(stop: Stop): Promise<Ending> {
    this.#release();
    if (stop === 'lease-lost') return 'gone';
    if (stop === 'grace-over') return this.#cancelledEnding();
    const seconds = Math.round(this.agent.settings.inactivityMs / 1000);
    return this.#log.close(
      this.#failure(REASONS.agentInactive, `The agent was silent for ${seconds} seconds.`),
    );
  }

  #cancelledEnding(): Promise<Ending> {
    return this.#log.close(this.#output.status(TaskState.CANCELED, undefined, this.#cancelled?.metadata));
  }

  async #broken(error: unknown): Promise<Ending> {
    this.#release();
    return this.#stop ? 'gone' : this.#log.close(this.#fault(error));
  }

  #fault(error: unknown): StreamResponse {
    if (this.#cancelled) return this.#output.status(TaskState.CANCELED, undefined, this.#cancelled.metadata);
    if (error instanceof TaskTooLarge) return this.#failure(REASONS.taskTooLarge);
    if (error instanceof AgentFailure) return this.#failure(REASONS.agentFailed, error.message);
    this.#warn('the agent failed', error);
    const invalid = error instanceof InvalidAgentOutput;
    return this.#failure(invalid ? REASONS.invalidAgentResponse : REASONS.agentFailed);
  }

  #failure(reason: Reason, text = reason.text): StreamResponse {
    return this.#output.status(TaskState.FAILED, this.#output.text(text), reasonMetadata(reason));
  }

  /** Leaves the agent's iterable: it may clean up, but nobody waits for it and what it says is dropped. */
  #release(): void {
    void (async () => {
      await this.#iterator?.return?.();
    })().catch((error: unknown) => this.#warn('the agent failed after its turn', error));
  }

  #leave(stop: Stop): void {
    this.#stop ??= stop;
    this.#onStop?.(this.#stop);
    if (!this.#abort.signal.aborted) {
      this.#abort.abort((stop === 'inactive' ? 'inactive' : 'lease-lost') satisfies TurnAbort);
    }
  }

  #warn(what: string, error?: unknown): void {
    const { lease, request } = this.claim;
    const traceId = traceIdOf(request.traceparent);
    LOG.warn({ message: what, agent: this.agent.id, task: lease.taskId, traceId, cause: error });
  }
}

const LOG = new Logger('Turn');
