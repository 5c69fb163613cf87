import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { TurnContext } from '../agent.executor.js';

/** Waits `ms`. True when the time went by, false as soon as the turn is aborted. */
export async function pause(turn: TurnContext, ms: number): Promise<boolean> {
  await delay(ms, undefined, { signal: turn.signal }).catch(() => {});
  return !turn.signal.aborted;
}

/** Waits until the turn is aborted. */
export async function untilAborted(turn: TurnContext): Promise<void> {
  if (!turn.signal.aborted) await once(turn.signal, 'abort');
}
