import { TaskState } from '../protocol/index.js';
import type { TurnClaim } from '../tasks/index.js';
import { type OpenSpan, openSpan, within } from '../telemetry/index.js';
import type { Turn } from './turn.js';

/**
 * The span of a turn: in the trace of the message that asked for it, wherever and whenever it runs. One that was
 * taken over links to that message, too: its span then comes long after the message's has ended.
 */
export class TurnSpan {
  /** The claim within this span: what the turn writes, and whom it calls, hangs below it. */
  readonly claim: TurnClaim;
  readonly #open: OpenSpan;

  constructor(claim: TurnClaim) {
    const { lease, scope, attempt, request } = claim;
    const parent = request.traceparent;
    const links = attempt > 1 && parent !== undefined ? [parent] : [];
    const attributes = { 'a2a.agent': scope.agent, 'a2a.task.id': lease.taskId, 'a2a.turn.attempt': attempt };
    this.#open = openSpan('a2a/turn', { parent, links, attributes });
    const traceparent = this.#open.traceparent ?? parent;
    this.claim = traceparent === parent ? claim : { ...claim, request: { ...request, traceparent } };
  }

  /** Runs the turn of the claim, once. */
  around(turn: Turn): Promise<boolean> {
    return within(this.#open, async () => {
      const again = await turn.run();
      this.#open.span.setAttribute('a2a.task.state', TaskState[turn.state]);
      return again;
    });
  }
}
