import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TaskState } from '../../src/protocol/index.js';
import { oldA2AStand } from '../support/backends/a2a.old.stand.js';
import { a2aStand } from '../support/backends/a2a.stand.js';
import { BackendService, statusText, textOf } from '../support/backends/backend.service.js';
import { mcpStand, mcpStdioStand } from '../support/backends/mcp.stand.js';
import { modelStand } from '../support/backends/model.stand.js';
import { commandStand, httpStand, moduleStand } from '../support/backends/plain.stands.js';
import { type Behaviour, type Stand } from '../support/backends/stand.js';
import { call, House, until } from '../support/house.js';

/** Each kind, and what it does not have: a model does not ask, nobody sees a poster of callbacks die. */
const STANDS: readonly [kind: string, lacks: readonly Behaviour[], open: () => Promise<Stand>][] = [
  ['module', [], moduleStand],
  ['http with one JSON answer', [], () => httpStand('json')],
  ['http with SSE', [], () => httpStand('sse')],
  ['http with NDJSON', [], () => httpStand('ndjson')],
  ['http with callbacks', ['die', 'garbage'], () => httpStand('callback')],
  ['command', [], commandStand],
  ['openai', ['ask', 'auth'], modelStand],
  ['a2a over JSON-RPC', ['auth'], () => a2aStand('JSONRPC')],
  ['a2a over HTTP+JSON', ['auth'], () => a2aStand('HTTP+JSON')],
  ['a2a 0.3 over JSON-RPC', ['auth', 'garbage'], () => oldA2AStand('JSONRPC')],
  ['a2a 0.3 over HTTP+JSON', ['auth', 'garbage'], () => oldA2AStand('HTTP+JSON')],
  ['a2a 0.3 over gRPC', ['auth', 'garbage', 'big'], () => oldA2AStand('GRPC')],
  ['mcp', ['stream', 'ask', 'auth', 'die', 'garbage'], mcpStand],
  ['mcp on stdio', ['stream', 'ask', 'auth', 'garbage'], mcpStdioStand],
];

/** How the caller's task ends, and what the caller reads. */
const ENDS: Readonly<Partial<Record<Behaviour, [TaskState, RegExp]>>> = {
  hello: [TaskState.COMPLETED, /^hello to you$/],
  stream: [TaskState.COMPLETED, /^1 2 3 $/],
  die: [TaskState.FAILED, /^(half of )?/],
  garbage: [TaskState.FAILED, /^$/],
  big: [TaskState.COMPLETED, /^x{5242880}$/],
};

describe.each(STANDS)('An agent behind %s', (_, lacks, open) => {
  let house: House;
  let service: BackendService;
  let stand: Stand;
  beforeAll(async () => {
    house = await House.open();
    stand = await open();
    service = await BackendService.open(house, stand);
  });
  afterAll(async () => {
    await service.close();
    await house.close();
  });

  const ends = (Object.entries(ENDS) as [Behaviour, [TaskState, RegExp]][]).filter(
    ([one]) => !lacks.includes(one),
  );
  const itCan = (behaviour: Behaviour) => (title: string, test: () => Promise<void>) =>
    lacks.includes(behaviour) ? it.skip(`${title}: this kind cannot "${behaviour}"`, test) : it(title, test);

  it.each(ends)('ends "%s" as it should', async (behaviour, [state, text]) => {
    const task = await service.send(behaviour);

    expect(TaskState[task.status!.state]).toBe(TaskState[state]);
    expect(textOf(task)).toMatch(text);
    expect(statusText(task.status!)).not.toContain('secret');
    await until(() => stand.running() === 0);
  });

  itCan('ask')('asks and goes on with the answer', async () => {
    const asked = await service.send('ask');
    expect(TaskState[asked.status!.state]).toBe('INPUT_REQUIRED');
    expect(statusText(asked.status!)).toBe('Which one?');

    const answered = await service.send('blue', { taskId: asked.id, now: false });
    expect(TaskState[answered.status!.state]).toBe('COMPLETED');
    expect(textOf(answered)).toBe('You said blue');
  });

  itCan('auth')('waits for an approval and goes on with it', async () => {
    const { id } = await service.send('auth');
    await service.replica.approvals.resolve(id, { approved: true, by: 'ann' });
    await until(async () => (await service.read(id)).status?.state === TaskState.COMPLETED);
    expect(textOf(await service.read(id))).toBe('Approved by ann');
  });

  itCan('wait')('stops when the task is cancelled', async () => {
    const { id } = await service.begin('wait');
    await until(() => stand.running() === 1);
    const cancelled = await service.replica.service.cancelTask(
      { $typeName: 'lf.a2a.v1.CancelTaskRequest', tenant: '', id },
      call(),
    );

    expect(TaskState[cancelled.status!.state]).toBe('CANCELED');
    await until(() => stand.running() === 0);
  });

  itCan('silent')('fails and stops when it is silent for too long', async () => {
    const strict = await BackendService.open(house, stand, { inactivityMs: 1_000, isLive: false });
    const task = await strict.send('silent');
    await strict.stop();

    expect(TaskState[task.status!.state]).toBe('FAILED');
    expect(task.metadata?.['parley.dev/reason']).toBe('AGENT_INACTIVE');
    await until(() => stand.running() === 0);
  });
});

describe('An agent behind A2A over gRPC', () => {
  it('that answers with more than its client takes fails at once, and the caller reads why', async () => {
    const house = await House.open();
    const service = await BackendService.open(house, await oldA2AStand('GRPC'));
    const task = await service.send('big');
    expect(statusText(task.status!)).toBe('The agent gave an answer that is too large.');
    await service.close();
    await house.close();
  });
});
