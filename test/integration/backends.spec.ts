import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AgentFile, AgentFile as AgentFileSchema } from '../../src/agents/agent.schema.js';
import { BackEnds } from '../../src/agents/backends/back.ends.js';
import { CallbackController } from '../../src/agents/backends/callback.controller.js';
import { PostgresCallbacks } from '../../src/agents/backends/postgres-callbacks.js';
import { fileAgent } from '../../src/agents/file.agent.js';
import { type Message, type Task, TaskState } from '../../src/protocol/index.js';
import { a2aStand } from '../support/backends/a2a.stand.js';
import { mcpStand, mcpStdioStand } from '../support/backends/mcp.stand.js';
import { modelStand } from '../support/backends/model.stand.js';
import { commandStand, httpStand, moduleStand } from '../support/backends/plain.stands.js';
import { type Behaviour, type Stand, serve, type TestServer } from '../support/backends/stand.js';
import { call, House, type Replica, send, until } from '../support/house.js';

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
  ['mcp', ['stream', 'ask', 'auth', 'die', 'garbage'], mcpStand],
  ['mcp on stdio', ['stream', 'ask', 'auth', 'wait', 'silent', 'garbage'], mcpStdioStand],
];

/** How the caller's task ends, and what the caller reads. */
const ENDS: Readonly<Partial<Record<Behaviour, [TaskState, RegExp]>>> = {
  hello: [TaskState.COMPLETED, /^hello to you$/],
  stream: [TaskState.COMPLETED, /^1 2 3 $/],
  die: [TaskState.FAILED, /^(half of )?/],
  garbage: [TaskState.FAILED, /^$/],
  big: [TaskState.COMPLETED, /^x{5242880}$/],
};

const AT_REST = new Set([
  TaskState.COMPLETED,
  TaskState.FAILED,
  TaskState.CANCELED,
  TaskState.REJECTED,
  TaskState.INPUT_REQUIRED,
  TaskState.AUTH_REQUIRED,
]);

/** A replica with that back end, and the address that callbacks are posted to. */
class Service {
  private constructor(
    readonly replica: Replica,
    readonly stand: Stand,
    private readonly callbacks: TestServer,
  ) {}

  static async open(house: House, stand: Stand): Promise<Service> {
    const file: AgentFile = AgentFileSchema.parse({
      id: 'echo',
      name: 'Agent',
      description: 'Does what the script says',
      backend: stand.backend,
    });
    const script = { execute: undefined as unknown as ReturnType<typeof fileAgent>['executor'] };
    const settings = {
      ...fileAgent(file, script.execute).settings,
      inactivityMs: 4_000,
      cancelGraceMs: 10_000,
    };
    const replica = house.replica({ script: (turn) => script.execute.execute(turn), settings });
    const callbacks = new PostgresCallbacks(replica.postgres);
    const controller = new CallbackController(callbacks);
    const server = await serve(async (request, response) => {
      const [, , taskId = '', turn = '', signature = ''] = (request.url ?? '').split('/');
      const chunks = await request.toArray();
      await controller.take({ taskId, turn, signature }, Buffer.concat(chunks));
      response.writeHead(204).end();
    });
    callbacks.listenAt(server.url);
    script.execute = await new BackEnds(callbacks).executorOf(file, '/');
    await replica.live();
    return new Service(replica, stand, server);
  }

  async send(...args: Parameters<typeof send>): Promise<Task> {
    const [text, more] = args;
    const { payload } = await this.replica.service.sendMessage(send(text, { now: true, ...more }), call());
    if (payload.case !== 'task') throw new Error('The answer is no task');
    const { id } = payload.value;
    await until(async () => AT_REST.has((await this.read(id)).status!.state), 20_000);
    return this.read(id);
  }

  /** Sends without waiting for what comes of it. */
  async begin(text: string): Promise<Task> {
    const { payload } = await this.replica.service.sendMessage(send(text, { now: true }), call());
    return payload.value as Task;
  }

  read(id: string): Promise<Task> {
    return this.replica.service.getTask({ $typeName: 'lf.a2a.v1.GetTaskRequest', tenant: '', id }, call());
  }

  async close(): Promise<void> {
    await this.stand.close();
    await this.callbacks.close();
  }
}

const textOf = (task: Task) =>
  task.artifacts
    .flatMap(({ parts }) => parts)
    .map(({ content }) => (content.case === 'text' ? content.value : ''))
    .join('');
const statusText = ({ message }: { message?: Message }) =>
  (message?.parts ?? []).map(({ content }) => content.value).join('');

let house: House;
beforeAll(async () => {
  house = await House.open();
});
afterAll(() => house.close());

describe.each(STANDS)('An agent behind %s', (_, lacks, open) => {
  let service: Service;
  let stand: Stand;
  beforeAll(async () => {
    stand = await open();
    service = await Service.open(house, stand);
  });
  afterAll(() => service.close());

  const ends = (Object.entries(ENDS) as [Behaviour, [TaskState, RegExp]][]).filter(
    ([one]) => !lacks.includes(one),
  );
  const itCan = (behaviour: Behaviour) => (lacks.includes(behaviour) ? it.skip : it);

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
    const task = await service.send('silent');

    expect(TaskState[task.status!.state]).toBe('FAILED');
    expect(task.metadata?.['parley.dev/reason']).toBe('AGENT_INACTIVE');
    await until(() => stand.running() === 0);
  });
});
