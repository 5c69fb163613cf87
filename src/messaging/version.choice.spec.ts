import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { FakeAgents, fakeAgent } from '../../test/support/fake.agents.js';
import { call } from '../../test/support/house.js';
import { MessageSchema, TaskSchema } from '../protocol/index.js';
import { scopeOf, type TaskStore } from '../tasks/index.js';
import { VersionChoice } from './version.choice.js';

const served = (...versions: [string, number?][]) =>
  new FakeAgents(versions.map(([version, weight]) => fakeAgent({ version, rollout: { weight } })));
const choiceOf = (agents: FakeAgents) => new VersionChoice(agents, {} as TaskStore);

describe('The version of a new context', () => {
  const choice = choiceOf(served(['1.0.0'], ['2.0.0', 50]));
  const chosen = async (messageId: string) => {
    const message = create(MessageSchema, { messageId });
    return (await choice.forNewTask(message, scopeOf(call()), call())).agent.version;
  };

  it('is the same for a repeat of the message that opens it, and both for many', async () => {
    const ids = Array.from({ length: 40 }, (_, n) => `message-${n}`);
    const first = await Promise.all(ids.map(chosen));

    expect(await Promise.all(ids.map(chosen))).toEqual(first);
    expect(new Set(first)).toEqual(new Set(['1.0.0', '2.0.0']));
  });
});

describe('A call whose agent was taken away meanwhile', () => {
  it.each([{ agent: 'gone' }, { agent: 'echo', agentVersion: '3.0.0' }])(
    'finds none: %j',
    async (address) => {
      const choice = choiceOf(served(['1.0.0']));
      const to = call(address);
      await expect(choice.forNewTask(create(MessageSchema), scopeOf(to), to)).rejects.toMatchObject({
        kind: 'notFound',
      });
    },
  );
});

describe('A task whose version is gone', () => {
  const before = { task: create(TaskSchema, { status: { state: 6 } }), version: 1, size: 0 };
  const choice = choiceOf(served(['2.0.0'], ['1.1.0']));

  it('goes on at the plain address and at that of the version that took over, and at no other', () => {
    const on = (agentVersion?: string) =>
      choice.forTask({ ...before, agentVersion: '1.0.0' }, call({ agentVersion })).agent.version;

    expect([on(), on('1.1.0')]).toEqual(['1.1.0', '1.1.0']);
    expect(() => on('2.0.0')).toThrow(/version 1\.0\.0 of the agent, which version 1\.1\.0 goes on with/);
  });

  it('takes no new message where none took over', () => {
    const { agent, refusal } = choice.forTask({ ...before, agentVersion: '3.0.0' }, call());
    expect([agent.version, refusal?.message]).toEqual([
      '2.0.0',
      'Version 3.0.0 of the agent, which the task began on, is no longer served',
    ]);
  });
});
