import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { artifact, completed, inputRequired, textPart, working } from '../../src/agents/index.js';
import { type StreamResponse, type Task, TaskState } from '../../src/protocol/index.js';
import { isTerminal, TaskFold } from '../../src/tasks/index.js';
import { call, collect, House, type ReplicaOptions, send, until } from '../support/house.js';

let house: House;
beforeAll(async () => {
  house = await House.open();
});
afterAll(() => house.close());

/** What a client gets that folds a task's stream. */
function foldOf(responses: readonly StreamResponse[]): Task {
  const [first, ...rest] = responses;
  expect(first?.payload.case).toBe('task');
  const fold = new TaskFold(first!.payload.value as Task);
  for (const response of rest) fold.apply(response);
  return fold.task;
}

const textOf = (task: Task) => task.artifacts[0]?.parts.map((part) => part.content.value).join('');

const chunks = (
  count: number,
  pace: (chunk: number) => Promise<void> = async () => {},
): ReplicaOptions['script'] =>
  async function* () {
    yield working();
    for (let i = 0; i < count; i++) {
      yield artifact({ artifactId: 'x', parts: [textPart(`${i};`)] }, { append: i > 0 });
      await pace(i);
    }
    yield completed();
  };

const expected = (count: number) => Array.from({ length: count }, (_, i) => `${i};`).join('');

describe('a stream', () => {
  it('brings the Task first and the end last, a thousand times from a synchronous agent (B04)', async () => {
    const replica = house.replica({ script: chunks(2) });
    for (let round = 0; round < 20; round++) {
      await Promise.all(
        Array.from({ length: 50 }, async () => {
          const responses = await collect(await replica.service.sendStreamingMessage(send('go'), call()));
          expect(responses.map(({ payload }) => payload.case)).toEqual([
            'task',
            'statusUpdate',
            'artifactUpdate',
            'artifactUpdate',
            'statusUpdate',
          ]);
        }),
      );
    }
    expect(replica.feed.size).toBe(0);
  });

  it('can be subscribed to at once after an immediate reply, a thousand times (B04)', async () => {
    const replica = house.replica({ script: chunks(2) });
    let followed = 0;
    for (let round = 0; round < 20; round++) {
      await Promise.all(
        Array.from({ length: 50 }, async () => {
          const id = await replica.begin();
          try {
            const responses = await collect(await replica.subscribe(id));
            expect(textOf(foldOf(responses))).toBe(expected(2));
            followed++;
          } catch (error) {
            expect(error).toMatchObject({ kind: 'unsupportedOperation' });
            expect(isTerminal((await replica.read(id)).status!.state)).toBe(true);
          }
        }),
      );
    }
    expect(followed).toBeGreaterThan(0);
    expect(replica.feed.size).toBe(0);
  });

  it('equals the stored task however many join and leave meanwhile, on two replicas (B01, B35)', async () => {
    let open = () => {};
    let gate = Promise.resolve();
    const pace = (chunk: number) => (chunk === 30 ? gate : new Promise<void>((next) => setImmediate(next)));
    const [here, there] = [house.replica({ script: chunks(60, pace) }), house.replica({ script: chunks(1) })];
    for (let round = 0; round < 200; round++) {
      gate = new Promise<void>((resolve) => (open = resolve));
      const id = await here.begin();
      const streams = await Promise.all([
        here.subscribe(id),
        (round % 20 === 0 ? there : here).subscribe(id),
        here.subscribe(id),
      ]);
      const [whole, far, cut] = streams.map(collect);
      open();
      setImmediate(() => void streams[2][Symbol.asyncIterator]().return?.());
      const stored = await whole!.then(() => here.read(id));
      expect(textOf(stored)).toBe(expected(60));
      expect(foldOf(await whole!)).toEqual(stored);
      expect(foldOf(await far!)).toEqual(stored);
      expect(expected(60)).toContain(textOf(foldOf(await cut!)) ?? '');
    }
    expect(here.feed.size + there.feed.size).toBe(0);
  });

  it('goes on after the last event seen, without the snapshot', async () => {
    let release = () => {};
    const replica = house.replica({
      script: async function* () {
        yield working();
        for (let i = 0; i < 5; i++) {
          yield artifact({ artifactId: 'x', parts: [textPart(`${i};`)] }, { append: i > 0 });
        }
        await new Promise<void>((resolve) => (release = resolve));
        yield completed();
      },
    });
    const id = await replica.begin();
    await until(async () => (await replica.store.events(id, 0, 10)).length === 7);
    const resumed = collect(await replica.subscribe(id, { lastEventId: 4 }));
    const fresh = collect(await replica.subscribe(id, { lastEventId: 99 }));
    release();
    expect((await resumed).map(({ payload }) => payload.case)).toEqual([
      'artifactUpdate',
      'artifactUpdate',
      'artifactUpdate',
      'statusUpdate',
    ]);
    expect((await fresh)[0]?.payload.case).toBe('task');
    const after = await collect(await replica.subscribe(id, { lastEventId: 7 }));
    expect(after.map(({ payload }) => payload.case)).toEqual(['statusUpdate']);
    await replica.postgres.query({ text: `DELETE FROM task_events WHERE task_id = '${id}' AND seq < 7` });
    const compacted = await collect(await replica.subscribe(id, { lastEventId: 4 }));
    expect(compacted.map(({ payload }) => payload.case)).toEqual(['task']);
    await expect(replica.subscribe(id, { lastEventId: 8 })).rejects.toMatchObject({
      kind: 'unsupportedOperation',
    });
  });

  it('takes an answer in the moment the question is seen, 500 times, one turn each (B33)', async () => {
    let turns = 0;
    const replica = house.replica({
      script: async function* (turn) {
        turns++;
        if (turn.history.filter((m) => m.role === 1).length < 2) yield inputRequired('?');
        else yield completed();
      },
    });
    for (let i = 0; i < 500; i++) {
      const stream = await replica.service.sendStreamingMessage(send('go'), call());
      let id = '';
      for await (const batch of stream) {
        const payload = batch[0]?.response.payload;
        if (payload?.case === 'task') id = payload.value.id;
      }
      const reply = await replica.service.sendMessage(send('yes', { taskId: id }), call());
      expect((reply.payload.value as Task).status?.state).toBe(TaskState.COMPLETED);
    }
    expect(turns).toBe(1_000);
  });

  it('costs linear time and few rows for a long answer (B22)', async () => {
    const replica = house.replica({ script: chunks(5_000) });
    const stream = await replica.service.sendStreamingMessage(send('go'), call());
    const responses = await collect(stream);
    expect(responses).toHaveLength(5_003);
    const { id } = responses[0]!.payload.value as Task;
    const stored = await replica.read(id);
    expect(textOf(stored)).toBe(expected(5_000));
    expect(foldOf(responses)).toEqual(stored);
  });
});
