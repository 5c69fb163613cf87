import { afterAll, beforeAll, expect, it } from 'vitest';
import { completed, working } from '../../src/agents/index.js';
import { TaskState } from '../../src/protocol/index.js';
import { call, House, send, until } from '../support/house.js';

let house: House;
beforeAll(async () => {
  house = await House.open();
});
afterAll(() => house.close());

it('A message that another replica took while the turn ran stays in the history', async () => {
  const steps: (() => void)[] = [];
  const step = () => new Promise<void>((resolve) => steps.push(resolve));
  const runner = house.replica({
    script: async function* () {
      yield working('one');
      await step();
      yield working('two');
      await step();
      yield completed('three');
    },
  });
  const other = house.replica({ script: async function* () {} });
  const read = () => other.read(id);
  const id = await runner.begin();
  await until(() => steps.length === 1);
  await other.service.sendMessage(send('between', { taskId: id, now: true }), call());
  steps[0]!();
  await until(() => steps.length === 2);
  await until(async () => (await read()).status?.message?.parts[0]?.content.value === 'two');
  steps[1]!();
  await until(async () => (await read()).status?.state === TaskState.COMPLETED);

  const { history } = await read();
  expect(history.map(({ parts }) => parts[0]?.content.value)).toEqual(['go', 'one', 'between', 'two']);
});
