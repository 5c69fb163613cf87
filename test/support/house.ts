import { create } from '@bufbuild/protobuf';
import { TaskService } from '../../src/a2a/task.service.js';
import {
  AGENT_SETTINGS,
  type AgentDefinition,
  type AgentEvents,
  AgentExecutor,
  type AgentSettings,
  type TurnContext,
} from '../../src/agents/index.js';
import type { CardService } from '../../src/cards/index.js';
import type { Environment } from '../../src/config/index.js';
import { Postgres, SecretCipher } from '../../src/database/index.js';
import { Cancellation, Intake, TurnRunner } from '../../src/messaging/index.js';
import { LeaseKeeper } from '../../src/messaging/lease.keeper.js';
import { TaskCloser } from '../../src/messaging/task.closer.js';
import { TurnApprovals } from '../../src/messaging/turn-approvals.js';
import {
  type CallContext,
  CancelTaskRequestSchema,
  type EventStream,
  GetTaskRequestSchema,
  type Message,
  type SendMessageRequest,
  SendMessageRequestSchema,
  type StreamResponse,
  SubscribeToTaskRequestSchema,
  type Task,
  TaskState,
} from '../../src/protocol/index.js';
import { PushService, type PushStore } from '../../src/push/index.js';
import { PostgresPushStore } from '../../src/push/postgres-push.store.js';
import { PageTokens, PushSignal, SystemClock, TaskFeed, TimeOrderedIds } from '../../src/tasks/index.js';
import { PostgresEventBus } from '../../src/tasks/postgres-event.bus.js';
import { PostgresTaskStore } from '../../src/tasks/postgres-task.store.js';
import { testConfig } from './config.js';
import { FakeAgents, fakeAgent } from './fake.agents.js';
import { createDatabase } from './postgres.js';

/** The operations on tasks do not ask for cards. */
const NO_CARDS = {} as CardService;

type Script = (turn: TurnContext) => AsyncIterable<AgentEvents>;

/** An agent that does what a function says. */
export class ScriptedExecutor extends AgentExecutor {
  cancelled = 0;

  constructor(private readonly script: Script) {
    super();
  }

  execute(turn: TurnContext): AsyncIterable<AgentEvents> {
    return this.script(turn);
  }

  override async cancel(): Promise<void> {
    this.cancelled++;
  }
}

export interface ReplicaOptions {
  readonly script: Script;
  readonly settings?: Partial<AgentSettings>;
  /** More of the agent's definition. */
  readonly agent?: Partial<AgentDefinition>;
  readonly leaseMs?: number;
  readonly env?: Environment;
}

/** One replica's service, wired by hand over a database of the test's own. */
export class Replica {
  readonly executor: ScriptedExecutor;
  readonly postgres: Postgres;
  readonly store: PostgresTaskStore;
  readonly bus: PostgresEventBus;
  readonly feed: TaskFeed;
  readonly runner: TurnRunner;
  readonly keeper: LeaseKeeper;
  readonly service: TaskService;
  readonly approvals: TurnApprovals;
  readonly deliveries: PushStore;
  readonly push: PushService;

  constructor(url: string, { script, settings, agent, env, leaseMs = 5_000 }: ReplicaOptions) {
    const config = testConfig({ PARLEY_DATABASE_URL: url, PARLEY_LEASE_MS: `${leaseMs}`, ...env });
    const clock = new SystemClock();
    const ids = new TimeOrderedIds();
    this.executor = new ScriptedExecutor(script);
    const agents = new FakeAgents([
      fakeAgent({ ...agent, executor: this.executor, settings: { ...AGENT_SETTINGS, ...settings } }),
    ]);
    this.postgres = new Postgres(config);
    const signal = new PushSignal();
    const onPush = (taskId: string) => signal.raise(taskId);
    const cipher = config.pushKeys.length > 0 ? new SecretCipher(config.pushKeys) : undefined;
    this.store = new PostgresTaskStore(this.postgres, { holder: ids.next(), leaseMs, onPush, cipher });
    this.deliveries = new PostgresPushStore(this.postgres, config.pushTimeoutMs + 10_000);
    this.push = new PushService(config, this.deliveries, signal, this.store, ids);
    this.bus = new PostgresEventBus(this.postgres, ids.next());
    this.feed = new TaskFeed(this.store, this.bus);
    const closer = new TaskCloser(this.store, this.feed, clock, ids);
    this.runner = new TurnRunner(agents, this.store, this.feed, clock, ids, this.bus);
    this.keeper = new LeaseKeeper(config, this.store, agents, this.runner, closer, this.feed, this.bus);
    this.approvals = new TurnApprovals(this.store, this.feed, clock, this.runner, ids);
    const intake = new Intake(agents, this.store, this.feed, this.runner, clock, ids);
    const cancellation = new Cancellation(
      config,
      this.store,
      this.feed,
      agents,
      this.runner,
      closer,
      this.bus,
    );
    this.service = new TaskService(
      agents,
      intake,
      cancellation,
      this.runner,
      this.store,
      this.feed,
      new PageTokens('secret'),
      NO_CARDS,
      this.push,
    );
  }

  /** Lets the replica beat, sweep and listen as a served one does. */
  async live(): Promise<this> {
    await this.bus.start();
    await this.keeper.onApplicationBootstrap();
    this.push.onApplicationBootstrap();
    return this;
  }

  /** Sends a message and does not wait for what comes of it. Resolves with the task's id. */
  async begin(text = 'go'): Promise<string> {
    return taskOf(await this.service.sendMessage(send(text, { now: true }), call())).id;
  }

  read(id: string): Promise<Task> {
    return this.service.getTask(create(GetTaskRequestSchema, { id }), call({ operation: 'getTask' }));
  }

  cancel(id: string): Promise<Task> {
    return this.service.cancelTask(
      create(CancelTaskRequestSchema, { id }),
      call({ operation: 'cancelTask' }),
    );
  }

  subscribe(id: string, more: Partial<CallContext> = {}): Promise<EventStream> {
    return this.service.subscribeToTask(create(SubscribeToTaskRequestSchema, { id }), call(more));
  }

  async close(): Promise<void> {
    await this.keeper.onModuleDestroy();
    await this.push.beforeApplicationShutdown();
    await this.bus.stop();
    await this.postgres.onApplicationShutdown();
  }
}

/** Replicas over one database, all closed with it. */
export class House {
  readonly #replicas: Replica[] = [];

  private constructor(
    readonly url: string,
    private readonly drop: () => Promise<void>,
  ) {}

  static async open(): Promise<House> {
    const database = await createDatabase();
    return new House(database.url, () => database.drop());
  }

  replica(options: ReplicaOptions): Replica {
    const replica = new Replica(this.url, options);
    this.#replicas.push(replica);
    return replica;
  }

  async close(): Promise<void> {
    await Promise.all(this.#replicas.map((replica) => replica.close()));
    await this.drop();
  }
}

let messages = 0;

export function send(
  text: string,
  more: { taskId?: string; contextId?: string; messageId?: string; now?: boolean } = {},
): SendMessageRequest {
  const { taskId, contextId, messageId = `m-${++messages}`, now } = more;
  return create(SendMessageRequestSchema, {
    message: { messageId, taskId, contextId, role: 1, parts: [{ content: { case: 'text', value: text } }] },
    configuration: { returnImmediately: now ?? false },
  });
}

export function call(more: Partial<CallContext> = {}): CallContext {
  return {
    operation: 'sendMessage',
    binding: 'JSONRPC',
    version: '1.0',
    agent: 'echo',
    principal: { organisation: '', subject: 'alice', scopes: new Set() },
    extensions: [],
    signal: new AbortController().signal,
    onOver: () => undefined,
    reply: new Map(),
    ...more,
  };
}

/** The task that a message was answered with. */
export function taskOf({ payload }: { payload: { case?: string; value?: unknown } }): Task {
  if (payload.case !== 'task') throw new Error(`answered with ${payload.case}, not with a task`);
  return payload.value as Task;
}

export const stateOf = (task: Task) => TaskState[task.status!.state];

/** The first text of a message or an artifact. */
export const textOf = (value: Pick<Message, 'parts'> | undefined) => `${value?.parts[0]?.content.value}`;

/** What a stream brought, in words: states by their names. */
export const kindsOf = (responses: readonly StreamResponse[]) =>
  responses.map(({ payload }) =>
    payload.case === 'statusUpdate' ? TaskState[payload.value.status!.state] : payload.case,
  );

/** Everything that a stream brings, to its end. */
export async function collect(stream: EventStream): Promise<StreamResponse[]> {
  const all: StreamResponse[] = [];
  for await (const batch of stream) all.push(...batch.map((event) => event.response));
  return all;
}

/** Waits until the condition holds. */
export async function until(condition: () => boolean | Promise<boolean>, ms = 30_000): Promise<void> {
  const deadline = Date.now() + ms;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error('the condition did not come true in time');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
