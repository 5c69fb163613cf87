import { describe, expect, it } from 'vitest';
import { chunk } from '../../../test/support/fake.operations.js';
import { OldBindings } from '../../../test/support/old.bindings.js';
import type { EventStream } from '../../protocol/index.js';

const old = new OldBindings({ PARLEY_V03_STREAM_MS: '100' });

/** A stream of a task that goes on, until its reader is gone. */
async function* endless(signal: AbortSignal): EventStream {
  yield [chunk(1)];
  await new Promise((resolve) => signal.addEventListener('abort', resolve));
}

describe('A stream of 0.3 that lasts too long', () => {
  it('ends well on every binding; the task goes on (S000-18)', async () => {
    const ended: boolean[] = [];
    old.operations.subscribeToTask = async (_, { signal }) => {
      signal.addEventListener('abort', () => ended.push(true));
      return endless(signal);
    };
    const rest = await old.http('GET', '/rest/v1/tasks/t:subscribe');
    const rpc = await old.rpc('tasks/resubscribe', { id: 't' });
    const frames = await old.frames('TaskSubscription', { name: 'tasks/t' });

    expect([rest.events.length, rpc.events.length, frames.length]).toEqual([1, 1, 1]);
    expect(ended).toEqual([true, true, true]);
  });
});
