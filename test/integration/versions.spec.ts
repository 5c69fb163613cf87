import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { completed, inputRequired } from '../../src/agents/index.js';
import { TaskState } from '../../src/protocol/index.js';
import { call, House, type Replica, send, taskOf, textOf, until } from '../support/house.js';

let house: House;
beforeEach(async () => {
  house = await House.open();
});
afterEach(() => house.close());

/** A replica that serves one version alone. It renews no lease unless it lives, as if it had died. */
const serving = (version: string, script: Parameters<House['replica']>[0]['script']) =>
  house.replica({
    agent: { version },
    script,
    settings: { crash: { retries: 1 } },
    env: { PARLEY_DRAIN_MS: '0' },
  });
const endless = (version: string) =>
  serving(version, async function* ({ signal }) {
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
  });
const quick = (version: string) =>
  serving(version, async function* () {
    yield completed(version);
  });

const ageLease = (replica: Replica, id: string, minutes: number) =>
  replica.postgres.query({
    text: `UPDATE tasks SET lease_until = now() - $2 * interval '1 minute' WHERE id = $1`,
    values: [id, minutes],
  });

describe('A turn of a replica that died', () => {
  it('is taken over by one that serves its major version, and by no other', async () => {
    const dying = endless('1.2.0');
    const id = await dying.begin();
    await quick('2.0.0').live();
    const other = await dying.begin();
    await ageLease(dying, id, 1);
    await ageLease(dying, other, 1);
    await quick('1.3.0').live();

    for (const one of [id, other]) {
      await until(async () => (await dying.read(one)).status?.state === TaskState.COMPLETED);
      expect((await dying.read(one)).status?.message?.parts[0]?.content.value).toBe('1.3.0');
    }
  });

  it('fails with the reason when nobody has served its version for five minutes', async () => {
    const dying = endless('1.0.0');
    const id = await dying.begin();
    await ageLease(dying, id, 6);
    await quick('2.0.0').live();

    await until(async () => (await dying.read(id)).status?.state === TaskState.FAILED);
    expect((await dying.read(id)).metadata?.['parley.dev/reason']).toBe('AGENT_VERSION_GONE');
  });
});

describe('A task that is answered on a replica without its version', () => {
  const asking = () =>
    serving('1.0.0', async function* ({ history, message }) {
      if (history.length === 1) yield inputRequired('Which one?');
      else yield completed(textOf(message));
    });
  const waiting = async (replica: Replica) => {
    const id = await replica.begin();
    await until(async () => (await replica.read(id)).status?.state === TaskState.INPUT_REQUIRED);
    return id;
  };

  it('goes on where the version is served', async () => {
    const [before, after] = [await asking().live(), await quick('2.0.0').live()];
    const id = await waiting(before);
    await after.approvals.answer(id, { text: 'blue', by: 'ann' });

    await until(async () => (await before.read(id)).status?.state === TaskState.COMPLETED);
    expect(textOf((await before.read(id)).status?.message)).toBe('blue');
  });

  it('can be watched there, also at the address of the version that is gone', async () => {
    const [before, after] = [asking(), quick('2.0.0')];
    const id = await waiting(before);
    const stream = await after.subscribe(id, { agentVersion: '1.0.0' });
    const first = (await stream[Symbol.asyncIterator]().next()).value;
    await before.cancel(id);

    expect(first?.[0]?.response.payload.value).toMatchObject({ id });
  });

  it('is shown to who repeats a message that it took before', async () => {
    const [before, after] = [
      serving('1.0.0', async function* () {
        yield inputRequired('Which one?');
      }),
      quick('2.0.0'),
    ];
    const taskId = await waiting(before);
    const more = { taskId, messageId: 'one', now: true };
    await before.service.sendMessage(send('blue', more), call());
    const reply = new Map<string, string>();
    const again = await after.service.sendMessage(send('blue', more), call({ reply }));

    expect([taskOf(again).id, reply.get('a2a-idempotent-replay')]).toEqual([taskId, 'true']);
    const other = after.service.sendMessage(send('blue', { ...more, messageId: 'two' }), call());
    await expect(other).rejects.toThrow(/Version 1\.0\.0 of the agent.* is no longer served/);
  });

  it('fails with the reason when nobody has served it for five minutes', async () => {
    const [before, after] = [asking(), await quick('2.0.0').live()];
    const id = await waiting(before);
    await after.approvals.answer(id, { text: 'blue', by: 'ann' });
    await ageLease(after, id, 6);

    await until(async () => (await after.read(id)).status?.state === TaskState.FAILED);
    expect((await after.read(id)).metadata?.['parley.dev/reason']).toBe('AGENT_VERSION_GONE');
  });
});
