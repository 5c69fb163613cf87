import { create } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  encodeMessageText,
  StreamEvent,
  type StreamResponse,
  StreamResponseSchema,
  type Task,
  TaskSchema,
  TaskState,
} from '../protocol/index.js';
import { type StoredTask, TaskFold } from '../tasks/index.js';
import { PastTasks } from './past.tasks.js';
import type { PushClaim } from './push.store.js';

const START = create(TaskSchema, { id: 't', contextId: 'c', status: { state: TaskState.SUBMITTED } });
const text = (task: Task) => encodeMessageText(TaskSchema, task);

/** The event of a log: a chunk, or each tenth a status. The last one ends the task. */
function eventOf(seq: number, last: number): StreamResponse['payload'] {
  if (seq === 1) return { case: 'task', value: START };
  const made = (payload: object) => create(StreamResponseSchema, { payload } as never).payload;
  const state = seq === last ? TaskState.COMPLETED : TaskState.WORKING;
  const status = { state, message: { messageId: `${seq}`, parts: [] } };
  if (seq % 10 === 0 || seq === last) return made({ case: 'statusUpdate', value: { taskId: 't', status } });
  const artifact = { artifactId: 'a', parts: [{ content: { case: 'text', value: `${seq} ` } }] };
  return made({ case: 'artifactUpdate', value: { taskId: 't', append: true, artifact } });
}

/** A task's log that counts what is read of it. */
class Log {
  readonly #whole: readonly StreamEvent[];
  #events: readonly StreamEvent[];
  read = 0;
  looks = 0;

  constructor(
    last: number,
    private readonly snapshots: readonly number[] = [],
  ) {
    this.#whole = Array.from({ length: last }, (_, i) => {
      const response = create(StreamResponseSchema, { payload: eventOf(i + 1, last) });
      return new StreamEvent(response, i + 1);
    });
    this.#events = this.#whole;
  }

  /** The task as it was. */
  after(seq: number): Task {
    const fold = new TaskFold(START);
    for (const { response } of this.#whole.slice(1, seq)) fold.apply(response);
    return fold.task;
  }

  /** Takes the chunks away, as retention does. */
  compact(): void {
    this.#events = this.#whole.filter(({ response }) => response.payload.case !== 'artifactUpdate');
  }

  async events(_: string, seq: number, limit: number): Promise<StreamEvent[]> {
    const found = this.#events.filter((event) => event.seq! > seq).slice(0, limit);
    this.read += found.length;
    this.looks++;
    return found;
  }

  async snapshot(_: string, last: number): Promise<StoredTask | undefined> {
    this.looks++;
    const version = this.snapshots.findLast((seq) => seq <= last) ?? 1;
    return { task: this.after(version), version, size: 100 };
  }

  claim(cursor: number, count: number, id = 'one'): PushClaim {
    const events = this.#events.filter((event) => event.seq! > cursor).slice(0, count);
    const claimed = events.map((event) => ({ seq: event.seq!, json: event.json }));
    return { taskId: 't', target: { id }, cursor, events: claimed } as unknown as PushClaim;
  }
}

/** What is written of a claim: the number of each event with a status, and the task. */
async function written(past: PastTasks, claim: PushClaim): Promise<[number, string | undefined][]> {
  const all: [number, string | undefined][] = [];
  for (const event of claim.events) {
    if (event.json.startsWith('{"artifactUpdate"')) past.pass(claim, event);
    else all.push([event.seq, await past.at(claim, event, text)]);
  }
  return all;
}

const right = (log: Log, found: readonly [number, unknown][]) =>
  found.map(([seq]) => [seq, text(log.after(seq))]);

describe('past tasks', () => {
  it('of a config whose claims follow each other come of what was claimed, without a look at the log', async () => {
    const log = new Log(1_000);
    const past = new PastTasks(log);
    let count = 0;
    for (let cursor = 0; cursor < 1_000; cursor += 64) {
      const found = await written(past, log.claim(cursor, 64));
      expect(found).toEqual(right(log, found));
      count += found.length;
    }
    expect([count, log.looks]).toEqual([101, 0]);
  });

  it('are written again for a try that is made again, without a look', async () => {
    const log = new Log(100);
    const past = new PastTasks(log);
    await written(past, log.claim(0, 20));
    expect(await written(past, log.claim(19, 1))).toEqual([[20, text(log.after(20))]]);
    expect(await written(past, log.claim(19, 11))).toEqual(
      [20, 30].map((seq) => [seq, text(log.after(seq))]),
    );
    expect(log.looks).toBe(0);
  });

  it('go on after what somebody else has delivered, reading that alone', async () => {
    const log = new Log(1_000);
    const past = new PastTasks(log);
    await written(past, log.claim(0, 700));
    expect(await written(past, log.claim(725, 10))).toEqual([[730, text(log.after(730))]]);
    expect(log.read).toBe(30);
  });

  it('begin at the snapshot where the task is new here', async () => {
    const log = new Log(3_000, [500, 2_900, 2_955]);
    const past = new PastTasks(log);
    expect(await written(past, log.claim(2_945, 10))).toEqual([[2_950, text(log.after(2_950))]]);
    expect(log.read).toBe(50);
  });

  it('are read from the beginning, a few hundred events at once, where nothing else is stored', async () => {
    const log = new Log(3_000);
    expect(await written(new PastTasks(log), log.claim(2_000, 10))).toEqual([
      [2_010, text(log.after(2_010))],
    ]);
    expect([log.read, log.looks]).toEqual([2_009, 6]);
  });

  it('are kept of so many configs, and of so much of them, those that were pushed for last', async () => {
    const log = new Log(200);
    for (const most of [
      { tasks: 2, size: 1_000_000 },
      { tasks: 9, size: 3_500 },
    ]) {
      const past = new PastTasks(log, most);
      for (const id of ['one', 'two', 'three']) await written(past, log.claim(0, 10, id));
      const looks: number[] = [];
      for (const id of ['three', 'two', 'one']) {
        log.looks = 0;
        expect(await written(past, log.claim(19, 1, id))).toEqual([[20, text(log.after(20))]]);
        looks.push(log.looks);
      }
      expect(looks).toEqual([1, 1, 2]);
    }
  });

  it('of a log whose chunks are gone are those before the chunks and the last one, from the snapshot', async () => {
    const log = new Log(60, [60]);
    log.compact();
    const found = await written(new PastTasks(log), log.claim(0, 64));
    expect(found.map(([seq]) => seq)).toEqual([1, 10, 20, 30, 40, 50, 60]);
    const [first, ...rest] = found.map(([, task]) => task);
    expect([first, rest.pop()]).toEqual([text(log.after(1)), text(log.after(60))]);
    expect(rest).toEqual(Array(5).fill(undefined));
  });

  it('are never other than the task was, whoever delivers, in whatever order, and however little is kept', async () => {
    const step = fc.record({
      id: fc.constantFrom('one', 'two', 'three'),
      cursor: fc.option(fc.integer({ min: 0, max: 119 }), { freq: 3 }),
      count: fc.integer({ min: 1, max: 64 }),
    });
    const most = fc.record({
      tasks: fc.integer({ min: 1, max: 3 }),
      size: fc.integer({ min: 0, max: 30_000 }),
    });
    const log = new Log(120, [35, 80]);
    const property = fc.asyncProperty(fc.array(step, { maxLength: 12 }), most, async (steps, limits) => {
      const past = new PastTasks(log, limits);
      const cursors = new Map<string, number>();
      const found = await Promise.all(
        steps.map(({ id, cursor, count }) => {
          const from = cursor ?? cursors.get(id) ?? 0;
          cursors.set(id, from + count);
          return written(past, log.claim(from, count, id));
        }),
      );
      for (const each of found) expect(each).toEqual(right(log, each));
    });
    await fc.assert(property, { numRuns: 200 });
  });
});
