import { type AgentFile, AgentFile as AgentFileSchema } from '../../../src/agents/agent.schema.js';
import { BackEnds } from '../../../src/agents/backends/back.ends.js';
import { CallbackController } from '../../../src/agents/backends/callback.controller.js';
import { PostgresCallbacks } from '../../../src/agents/backends/postgres-callbacks.js';
import { fileAgent } from '../../../src/agents/file.agent.js';
import { type Message, type Task, TaskState } from '../../../src/protocol/index.js';
import { call, type House, type Replica, send, until } from '../house.js';
import { type Stand, serve, type TestServer } from './stand.js';

interface ServiceOptions {
  readonly leaseMs?: number;
  readonly inactivityMs?: number;
  /** More of the agent's file. */
  readonly file?: object;
  /** False: it renews no lease, like one that has died, and takes none over. */
  readonly isLive?: boolean;
}

/** Headers of callers are encrypted with it. */
const KEY = `test=${Buffer.alloc(32, 7).toString('base64')}`;

const AT_REST = new Set([
  TaskState.COMPLETED,
  TaskState.FAILED,
  TaskState.CANCELED,
  TaskState.REJECTED,
  TaskState.INPUT_REQUIRED,
  TaskState.AUTH_REQUIRED,
]);

/** A replica with that back end, and the address that callbacks are posted to. */
export class BackendService {
  private constructor(
    readonly replica: Replica,
    readonly stand: Stand,
    private readonly callbacks: TestServer,
  ) {}

  static async open(
    house: House,
    stand: Stand,
    { leaseMs, inactivityMs = 30_000, isLive = true, file: more }: ServiceOptions = {},
  ): Promise<BackendService> {
    const file: AgentFile = AgentFileSchema.parse({
      id: 'echo',
      name: 'Agent',
      description: 'Does what the script says',
      backend: stand.backend,
      ...more,
    });
    const script = { execute: undefined as unknown as ReturnType<typeof fileAgent>['executor'] };
    const settings = {
      ...fileAgent(file, script.execute).settings,
      inactivityMs,
      cancelGraceMs: 10_000,
    };
    const replica = house.replica({
      script: (turn) => script.execute.execute(turn),
      env: { PARLEY_PUSH_KEYS: KEY, ...(!isLive && { PARLEY_DRAIN_MS: '0' }) },
      settings,
      leaseMs,
    });
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
    replica.executor.abandon = async (task) => script.execute.abandon?.(task);
    if (isLive) await replica.live();
    return new BackendService(replica, stand, server);
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
    await this.stop();
  }

  /** What an agent shows of the one behind it, with these settings of the back end. */
  shown(backend: object) {
    const file = { id: 'x', name: 'X', description: 'X', backend: { ...this.stand.backend, ...backend } };
    return new BackEnds(new PostgresCallbacks(this.replica.postgres)).shownOf(AgentFileSchema.parse(file));
  }

  /** Leaves the back end to others. */
  stop(): Promise<void> {
    return this.callbacks.close();
  }
}

export const textOf = (task: Task) =>
  task.artifacts
    .flatMap(({ parts }) => parts)
    .map(({ content }) => (content.case === 'text' ? content.value : ''))
    .join('');
export const statusText = ({ message }: { message?: Message }) =>
  (message?.parts ?? []).map(({ content }) => content.value).join('');
