import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  artifact,
  authRequired,
  completed,
  inputRequired,
  textPart,
  working,
} from '../../src/agents/index.js';
import { A2AError, type Task, TaskState } from '../../src/protocol/index.js';
import {
  call,
  collect,
  House,
  type Replica,
  type ReplicaOptions,
  send,
  stateOf,
  until,
} from '../support/house.js';

let house: House;
beforeEach(async () => {
  house = await House.open();
});
afterEach(() => house.close());

async function pair(options: ReplicaOptions, other: ReplicaOptions = options): Promise<[Replica, Replica]> {
  const replicas: [Replica, Replica] = [house.replica(options), house.replica(other)];
  await Promise.all(replicas.map((replica) => replica.live()));
  return replicas;
}

const untilAborted = (signal: AbortSignal) => pause(60_000, undefined, { signal }).catch(() => undefined);

describe('two replicas over one database', () => {
  it('bring events of a turn on one to a reader on the other by hints alone (B67)', async () => {
    let go = () => {};
    const [a, b] = await pair({
      script: async function* () {
        yield working();
        await new Promise<void>((resolve) => (go = resolve));
        for (let i = 0; i < 50; i++) {
          yield artifact({ artifactId: 'x', parts: [textPart(`${i}`)] }, { append: i > 0 });
        }
        yield completed();
      },
    });
    const id = await a.begin();
    await until(async () => stateOf(await b.read(id)) === 'WORKING');
    const stream = collect(await b.subscribe(id));
    // The reader looks for itself now and then; it finds nothing.
    b.store.versions = () => new Promise(() => {});
    go();
    expect(await stream).toHaveLength(52);
  });

  it('lose no event when the connection for hints is cut', async () => {
    const [a, b] = await pair({
      script: async function* () {
        yield working();
        for (let i = 0; i < 20; i++) {
          yield artifact({ artifactId: 'x', parts: [textPart(`${i}`)] }, { append: i > 0 });
          await pause(20);
        }
        yield completed();
      },
    });
    const id = await a.begin();
    const stream = collect(await b.subscribe(id));
    await a.postgres.query({
      text: "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'parley events'",
    });
    const responses = await stream;
    expect(responses.at(-1)?.payload.case).toBe('statusUpdate');
    const text = responses.flatMap(({ payload }) =>
      payload.case === 'artifactUpdate' ? [payload.value.artifact?.parts[0]?.content.value] : [],
    );
    const first = responses[0]?.payload.value as Task;
    const before = first.artifacts[0]?.parts.map((part) => part.content.value) ?? [];
    expect([...before, ...text]).toEqual(Array.from({ length: 20 }, (_, i) => `${i}`));
    await until(() => a.bus.connected && b.bus.connected);
  });

  it('cancel a turn that runs on the other, by a hint and not by the next heartbeat (S002-109)', async () => {
    const [a, b] = await pair({
      script: async function* (turn) {
        yield working();
        await untilAborted(turn.signal);
      },
      leaseMs: 600_000,
    });
    const id = await a.begin();
    await until(async () => stateOf(await b.read(id)) === 'WORKING');
    const cancelled = await Promise.all([b.cancel(id), b.cancel(id), a.cancel(id)]);
    expect(cancelled.map(stateOf)).toEqual(['CANCELED', 'CANCELED', 'CANCELED']);
    expect(a.executor.cancelled + b.executor.cancelled).toBe(1);
  });

  it('hand a message to the turn that runs on the other', async () => {
    const [a, b] = await pair({
      script: async function* (turn) {
        yield working();
        for await (const next of turn.inbox) {
          yield completed(`got ${next.parts[0]?.content.value}`);
        }
      },
    });
    const id = await a.begin();
    await until(async () => stateOf(await b.read(id)) === 'WORKING');
    const reply = await b.service.sendMessage(send('more', { taskId: id }), call());
    const task = reply.payload.value as Task;
    expect(task.status?.message?.parts[0]?.content.value).toBe('got more');
    expect(await a.read(id)).toEqual(task);
  });

  it('share turns above the concurrency limit', async () => {
    let running = 0;
    let most = 0;
    const [a, b] = await pair({
      script: async function* () {
        most = Math.max(most, ++running);
        yield working();
        await pause(30);
        running--;
        yield completed();
      },
      settings: { concurrency: 2 },
    });
    const ids = await Promise.all(Array.from({ length: 30 }, () => a.begin()));
    await until(async () => {
      const states = await Promise.all(ids.map(async (id) => stateOf(await b.read(id))));
      return states.every((s) => s === 'COMPLETED');
    }, 20_000);
    expect(most).toBeLessThanOrEqual(4);
    expect(most).toBeGreaterThan(2);
  });

  it('hand a turn over when one goes down, at once, also of an agent that may not run again after a crash (B122)', async () => {
    const options: ReplicaOptions = {
      script: async function* (turn) {
        if (turn.attempt === 1) await untilAborted(turn.signal);
        yield completed(`attempt ${turn.attempt}`);
      },
      settings: { crash: { retries: 0 } },
      leaseMs: 60_000,
    };
    const [a, b] = await pair(options);
    const id = await a.begin();
    const waiting = a.service.sendMessage(send('wait'), call());
    await until(() => a.runner.size === 2);
    await a.runner.drain(50);
    a.feed.close();
    expect(((await waiting).payload.value as Task).status?.state).toBe(TaskState.SUBMITTED);
    await until(async () => stateOf(await b.read(id)) === 'COMPLETED');
    expect((await b.read(id)).status?.message?.parts[0]?.content.value).toBe('attempt 2');
  });

  it('hand a turn over also where the database is away for a moment (B122)', async () => {
    const [a, b] = await pair({
      script: async function* ({ signal, attempt }) {
        yield working();
        if (attempt === 1) await untilAborted(signal);
        else yield completed();
      },
    });
    const id = await a.begin();
    await until(async () => stateOf(await b.read(id)) === 'WORKING');
    const release = a.store.release.bind(a.store);
    a.store.release = async (...given) => {
      a.store.release = release;
      throw new A2AError('unavailable', { message: `away for ${given[0].length}` });
    };
    await a.runner.drain(0);
    await until(async () => stateOf(await b.read(id)) === 'COMPLETED');
  });

  it('cancel a task whose replica is gone by taking its lease', async () => {
    const script: ReplicaOptions['script'] = async function* (turn) {
      yield working();
      await untilAborted(turn.signal);
    };
    const dead = house.replica({ script, leaseMs: 200 });
    const heir = house.replica({ script, leaseMs: 60_000 });
    const id = await dead.begin();
    await until(async () => {
      const { rows } = await heir.postgres.query<{ dead: boolean }>({
        text: `SELECT lease_until < clock_timestamp() AS dead FROM tasks WHERE id = '${id}'`,
      });
      return rows[0]!.dead;
    });
    expect(stateOf(await heir.cancel(id))).toBe('CANCELED');
    await dead.keeper.heartbeat();
    await until(() => dead.runner.size === 0);
    expect(stateOf(await dead.read(id))).toBe('CANCELED');
  });

  it('start one turn for two messages that answer one question on both (B34)', async () => {
    let turns = 0;
    const [a, b] = await pair({
      script: async function* (turn) {
        turns++;
        if (turn.history.length === 1) yield inputRequired('?');
        else yield completed();
      },
    });
    for (let i = 0; i < 30; i++) {
      turns = 0;
      const reply = await a.service.sendMessage(send('go'), call());
      const { id } = reply.payload.value as Task;
      const answers = await Promise.allSettled(
        [a, b].map((replica) => replica.service.sendMessage(send('yes', { taskId: id }), call())),
      );
      expect(answers.some((answer) => answer.status === 'fulfilled')).toBe(true);
      await until(async () => stateOf(await b.read(id)) === 'COMPLETED');
      expect(turns).toBeLessThanOrEqual(2);
    }
  });

  it('take an approval on either', async () => {
    const [a, b] = await pair({
      script: async function* (turn) {
        if (turn.approval) yield completed(turn.approval.by);
        else yield authRequired('?');
      },
    });
    const id = await a.begin();
    await until(async () => stateOf(await b.read(id)) === 'AUTH_REQUIRED' && a.runner.size === 0);
    await b.approvals.resolve(id, { approved: true, by: 'ann' });
    await until(async () => stateOf(await a.read(id)) === 'COMPLETED');
  });
});
