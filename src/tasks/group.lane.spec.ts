import { describe, expect, it } from 'vitest';
import { GroupLane, type LaneLimits } from './group.lane.js';

const LIMITS = { items: 100, size: 1_000 };

/** A commit that the test lets through when it likes. */
function gatedLane(limits: LaneLimits = LIMITS) {
  const groups: number[][] = [];
  const gates: (() => void)[] = [];
  const lane = new GroupLane<number, string>(async (items) => {
    groups.push([...items]);
    await new Promise<void>((resolve) => gates.push(resolve));
    return items.map((item) => `done ${item}`);
  }, limits);
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  return { lane, groups, turn, open: () => gates.shift()?.() };
}

describe('group commit', () => {
  it('gathers what arrives while a commit is in flight, in order', async () => {
    const { lane, groups, turn, open } = gatedLane();
    const first = lane.submit(1, 1);
    await turn();
    const rest = [2, 3, 4].map((i) => lane.submit(i, 1));
    open();
    expect(await first).toBe('done 1');
    await turn();
    open();
    expect(await Promise.all(rest)).toEqual(['done 2', 'done 3', 'done 4']);
    expect(groups).toEqual([[1], [2, 3, 4]]);
  });

  it('takes what was submitted in one turn of the event loop together', async () => {
    const { lane, groups, turn, open } = gatedLane();
    const all = [1, 2, 3].map((i) => lane.submit(i, 1));
    await turn();
    open();
    await Promise.all(all);
    expect(groups).toEqual([[1, 2, 3]]);
  });

  it('keeps a group within its limits, but lets a large item through alone', async () => {
    const { lane, groups, turn, open } = gatedLane({ items: 2, size: 10 });
    const all = [
      [1, 4],
      [2, 4],
      [3, 4],
      [4, 99],
      [5, 1],
    ].map(([item, size]) => lane.submit(item!, size!));
    for (let i = 0; i < 5; i++) {
      await turn();
      open();
    }
    await Promise.all(all);
    expect(groups).toEqual([[1, 2], [3], [4], [5]]);
  });

  it('lets a slow group hold up the next ones only so long, where they need no order', async () => {
    const { lane, groups, turn, open } = gatedLane({ ...LIMITS, overtakeMs: 5 });
    const slow = lane.submit(1, 1);
    await turn();
    const rest = [2, 3].map((i) => lane.submit(i, 1));
    await expect.poll(() => groups).toEqual([[1], [2, 3]]);
    open();
    open();
    expect(await Promise.all([slow, ...rest])).toEqual(['done 1', 'done 2', 'done 3']);
  });

  it('lets one bad item spoil no other', async () => {
    const lane = new GroupLane<number, number>(async (items) => {
      if (items.includes(2)) throw new Error('two is bad');
      return [...items];
    }, LIMITS);
    const settled = await Promise.allSettled([1, 2, 3].map((i) => lane.submit(i, 1)));
    expect(settled.map((result) => (result.status === 'fulfilled' ? result.value : 'bad'))).toEqual([
      1,
      'bad',
      3,
    ]);
  });

  it("rejects the group at once when the error is everybody's", async () => {
    let tries = 0;
    const commit = async () => {
      tries++;
      throw new Error('no database');
    };
    const lane = new GroupLane<number, number>(commit, LIMITS, () => true);
    const settled = await Promise.allSettled([1, 2, 3].map((i) => lane.submit(i, 1)));
    expect(settled.every((result) => result.status === 'rejected')).toBe(true);
    expect(tries).toBe(1);
  });

  it('rejects the item whose commit failed, and goes on with the next', async () => {
    let fail = true;
    const lane = new GroupLane<number, number>(async (items) => {
      if (fail) throw new Error('the disk is full');
      return [...items];
    }, LIMITS);
    await expect(lane.submit(1, 1)).rejects.toThrow('the disk is full');
    fail = false;
    expect(await lane.submit(2, 1)).toBe(2);
  });
});
