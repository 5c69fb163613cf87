import { create } from '@bufbuild/protobuf';
import { describe, expect, it, vi } from 'vitest';
import { artifact, completed, textPart, working } from '../../src/agents/index.js';
import { type Task, TaskPushNotificationConfigSchema } from '../../src/protocol/index.js';
import { PostgresRetentionStore } from '../../src/tasks/postgres-retention.store.js';
import { call, type Replica, send, until } from '../support/house.js';
import { PushStage } from '../support/push.stage.js';
import type { Received } from '../support/webhook.receiver.js';

const stage = new PushStage({
  PARLEY_PUSH_SECRETS: `whsec_${Buffer.alloc(32, 1).toString('base64')}`,
  PARLEY_PUSH_KEYS: `test=${Buffer.alloc(32, 3).toString('base64')}`,
  PARLEY_PUSH_ALLOW: '127.0.0.1',
});
const { open } = stage;

/** Sends a message with a config of protocol 0.3. Resolves with the task's id. */
async function begin({ service }: Replica, more: { now?: boolean } = {}): Promise<string> {
  const request = send('go', more);
  const target = create(TaskPushNotificationConfigSchema, { url: stage.hook.url });
  request.configuration!.taskPushNotificationConfig = target;
  const { payload } = await service.sendMessage(request, call({ version: '0.3' }));
  return (payload.value as Task).id;
}
const delivery = async (replica: Replica, taskId: string) =>
  (await replica.deliveries.deliveries({ taskId, limit: 10 }))[0]!;
const done = (replica: Replica, taskId: string) =>
  until(async () => (await delivery(replica, taskId)).state === 'done');

interface PastTask {
  readonly status: { readonly state: string };
  readonly artifacts?: readonly { readonly parts: readonly { readonly text: string }[] }[];
}

/** The state that a task of protocol 0.3 was posted in, with the number of its chunks. */
function shown({ body }: Received): [string, number] {
  const { status, artifacts } = body as unknown as PastTask;
  return [status.state, artifacts?.[0]?.parts.length ?? 0];
}

async function* chunks(count: number) {
  for (let n = 1; n <= count; n++) {
    yield artifact({ artifactId: 'a', parts: [textPart(`${n} `)] }, { append: n > 1 });
    if (n % 100 === 0) yield working(`${n}`);
  }
}
const states = (from: number, to: number): [string, number][] =>
  Array.from({ length: (to - from) / 100 }, (_, i) => ['working', from + 100 * (i + 1)]);

describe('a webhook of protocol 0.3', () => {
  it('gets the task at each of its states (B91, S000-32)', async () => {
    await begin(
      open(async function* () {
        yield working('on it');
        yield artifact({ parts: [textPart('one')] });
        yield completed();
      }),
    );
    const received = await stage.hook.arrived(3);
    expect(received.map(({ body }) => body.kind)).toEqual(['task', 'task', 'task']);
    expect(received.map(shown)).toEqual([
      ['submitted', 0],
      ['working', 0],
      ['completed', 1],
    ]);
    expect(received[0]!.headers['content-type']).toBe('application/json');
  });

  it('costs no look at the log of a long task, after each status of which it gets the task as it was then', async () => {
    const replica = open(async function* () {
      yield* chunks(2_000);
      yield completed();
    });
    const snapshot = vi.spyOn(replica.store, 'snapshot');
    const events = vi.spyOn(replica.store, 'events');
    await begin(replica);
    expect((await stage.hook.arrived(22)).map(shown)).toEqual([
      ['submitted', 0],
      ...states(0, 2_000),
      ['completed', 2_000],
    ]);
    expect([snapshot.mock.calls, events.mock.calls]).toEqual([[], []]);
  });

  it('is gone on with by another replica from the snapshot of the task', async () => {
    let part = 1;
    const script = async function* () {
      yield* chunks(1_000);
      await until(() => part > 1);
      yield working('once more');
      await until(() => part > 2);
      yield completed();
    };
    const first = open(script);
    const id = await begin(first, { now: true });
    await stage.hook.arrived(11);
    await first.push.beforeApplicationShutdown();
    expect((await delivery(first, id)).cursor).toBe(1_011);
    const other = open(script);
    const snapshot = vi.spyOn(other.store, 'snapshot');
    const events = vi.spyOn(other.store, 'events');
    for (const count of [12, 13]) {
      part++;
      await until(async () => {
        await other.deliveries.sweep();
        return stage.hook.received.length === count;
      });
    }
    expect(stage.hook.received.slice(11).map(shown)).toEqual([
      ['working', 1_000],
      ['completed', 1_000],
    ]);
    expect(snapshot).toHaveBeenCalledOnce();
    const begun = (await snapshot.mock.results[0]!.value).version;
    expect(begun).toBeGreaterThan(500);
    expect(events.mock.calls.map(([, seq]) => seq)).toEqual([begun]);
  });

  it('that is sent the events of an old task again gets the states that its log still tells (S000-03)', async () => {
    const replica = open(async function* () {
      yield working('soon');
      yield* chunks(200);
      yield completed();
    });
    const id = await begin(replica);
    await stage.hook.arrived(5);
    await done(replica, id);
    const whole = stage.hook.received.map(({ text }) => text);
    const aged = {
      text: `UPDATE tasks SET status_at = now() - interval '1 day' WHERE id = $1`,
      values: [id],
    };
    await replica.postgres.query(aged);
    await new PostgresRetentionStore(replica.postgres).remove('events', [{ ms: 1_000 }]);
    stage.hook.received.length = 0;
    await replica.deliveries.redeliver({ taskId: id, after: 0 });
    await done(replica, id);
    const again = stage.hook.received.map(({ text }) => text);
    expect(again).toEqual([whole[0], whole[1], whole.at(-1)]);
  });
});
