import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { artifact, completed, inputRequired, textPart, working } from '../../src/agents/index.js';
import {
  call,
  collect,
  House,
  kindsOf,
  type ReplicaOptions,
  send,
  stateOf,
  taskOf,
  until,
} from '../support/house.js';

let house: House;
beforeAll(async () => {
  house = await House.open();
});
afterAll(() => house.close());

const open = (script: ReplicaOptions['script'], settings: ReplicaOptions['settings'] = {}) =>
  house.replica({ script, settings });

const answer = (text: string) => artifact({ parts: [textPart(text)] });

describe('cancelling', () => {
  it('stops the agent, keeps what it made and answers the same twice (B38, B40)', async () => {
    let effects = 0;
    const replica = open(async function* (turn) {
      yield answer('part');
      while (!turn.signal.aborted) {
        effects++;
        await pause(5);
      }
    });
    const task = taskOf(await replica.service.sendMessage(send('go', { now: true }), call()));
    await until(() => effects > 3);
    const cancel = () => replica.cancel(task.id);
    const [first, second] = await Promise.all([cancel(), cancel()]);
    expect(stateOf(first)).toBe('CANCELED');
    expect(second).toEqual(first);
    expect(await cancel()).toEqual(first);
    expect(first.artifacts).toHaveLength(1);
    expect(replica.executor.cancelled).toBe(1);
    const seen = effects;
    await until(() => replica.runner.size === 0);
    expect(effects - seen).toBeLessThanOrEqual(1);
  });

  it('commits CANCELED after the grace when the agent does not listen (S002-113)', async () => {
    let free = () => {};
    const replica = open(
      async function* () {
        yield working();
        await new Promise<void>((resolve) => (free = resolve));
        yield completed('ignored you');
      },
      { cancelGraceMs: 50 },
    );
    const task = taskOf(await replica.service.sendMessage(send('go', { now: true }), call()));
    const cancelled = await replica.cancel(task.id);
    expect(stateOf(cancelled)).toBe('CANCELED');
    free();
    await until(() => replica.runner.size === 0);
    expect(await replica.read(task.id)).toEqual(cancelled);
  });

  it('cancels a parked task and ends its open stream (B42)', async () => {
    const replica = open(async function* () {
      yield inputRequired('?');
    });
    const task = taskOf(await replica.service.sendMessage(send('go'), call()));
    await until(() => replica.runner.size === 0);
    const stream = await replica.subscribe(task.id);
    const all = collect(stream);
    expect(stateOf(await replica.cancel(task.id))).toBe('CANCELED');
    expect(kindsOf(await all)).toEqual(['task', 'CANCELED']);
  });

  it('is refused for a task that ended otherwise, and finds no foreign one', async () => {
    const replica = open(async function* () {
      yield completed();
    });
    const task = taskOf(await replica.service.sendMessage(send('go'), call()));
    const cancel = (subject: string) =>
      replica.service.cancelTask(
        { id: task.id } as never,
        call({ principal: { organisation: '', subject, scopes: new Set() } }),
      );
    await expect(cancel('alice')).rejects.toMatchObject({ kind: 'taskNotCancelable' });
    await expect(cancel('bob')).rejects.toMatchObject({ kind: 'taskNotFound' });
  });
});

describe('a lost replica', () => {
  it('fails its turns with the reason where the agent may not run again (B80)', async () => {
    const script: ReplicaOptions['script'] = async function* (turn) {
      yield working();
      await pause(60_000, undefined, { signal: turn.signal }).catch(() => undefined);
    };
    const dead = house.replica({ script, leaseMs: 200 });
    const task = taskOf(await dead.service.sendMessage(send('go', { now: true }), call()));
    const heir = house.replica({ script, leaseMs: 60_000 });
    await until(async () => {
      await heir.keeper.sweep();
      return stateOf(await heir.read(task.id)) === 'FAILED';
    });
    const failed = await heir.read(task.id);
    expect(failed.metadata).toEqual({ 'parley.dev/reason': 'REPLICA_LOST' });
    await dead.keeper.heartbeat();
    await until(() => dead.runner.size === 0);
    expect(await heir.read(task.id)).toEqual(failed);
  });

  it('has its turns run again where the agent may, without doubling what was said (B81)', async () => {
    const script = (last: boolean): ReplicaOptions['script'] =>
      async function* (turn) {
        for (let i = 0; i < 10; i++) {
          yield artifact({ artifactId: 'x', parts: [textPart(`${i}`)] }, { append: i > 0 });
          if (i === 4 && !last)
            await pause(60_000, undefined, { signal: turn.signal }).catch(() => undefined);
        }
        yield completed(`attempt ${turn.attempt}`);
      };
    const settings = { crash: { retries: 1 } };
    const dead = house.replica({ script: script(false), leaseMs: 200, settings });
    const task = taskOf(await dead.service.sendMessage(send('go', { now: true }), call()));
    const heir = house.replica({ script: script(true), leaseMs: 60_000, settings });
    await until(async () => {
      await heir.keeper.sweep();
      return stateOf(await heir.read(task.id)) === 'COMPLETED';
    });
    const done = await heir.read(task.id);
    expect(done.artifacts[0]?.parts.map((p) => p.content.value).join('')).toBe('0123456789');
    expect(done.status?.message?.parts[0]?.content.value).toBe('attempt 2');
    await dead.keeper.heartbeat();
  });
});

describe('more turns than places', () => {
  it('wait as SUBMITTED in the database, run later, and can be cancelled meanwhile', async () => {
    let release = () => {};
    const own = await House.open();
    onTestFinished(() => own.close());
    const replica = own.replica({
      script: async function* () {
        await new Promise<void>((resolve) => (release = resolve));
        yield completed();
      },
      settings: { concurrency: 1 },
      leaseMs: 400,
    });
    await replica.live();
    const started = async (text: string) =>
      taskOf(await replica.service.sendMessage(send(text, { now: true }), call()));
    const [first, second, third] = [await started('1'), await started('2'), await started('3')];
    const cancelled = await replica.cancel(second.id);
    expect(stateOf(cancelled)).toBe('CANCELED');
    expect(stateOf(await replica.read(third.id))).toBe('SUBMITTED');
    for (const { id } of [first, third]) {
      await until(async () => {
        release();
        return stateOf(await replica.read(id)) === 'COMPLETED';
      });
    }
  });
});
