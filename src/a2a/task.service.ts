import { create } from '@bufbuild/protobuf';
import { EmptySchema, timestampMs } from '@bufbuild/protobuf/wkt';
import { Injectable } from '@nestjs/common';
import { type AgentDefinition, AgentRegistry } from '../agents/index.js';
import { CardService } from '../cards/index.js';
import {
  type Accepted,
  type Answered,
  Cancellation,
  Intake,
  Outcome,
  TurnRunner,
} from '../messaging/index.js';
import {
  A2AError,
  type A2AOperations,
  type AgentCard,
  type CallContext,
  type CancelTaskRequest,
  type DeleteTaskPushNotificationConfigRequest,
  type EventStream,
  type GetExtendedAgentCardRequest,
  type GetTaskPushNotificationConfigRequest,
  type GetTaskRequest,
  type ListTaskPushNotificationConfigsRequest,
  type ListTasksRequest,
  type ListTasksResponse,
  ListTasksResponseSchema,
  type Message,
  type SendMessageRequest,
  type SendMessageResponse,
  SendMessageResponseSchema,
  StreamEvent,
  type StreamResponse,
  type SubscribeToTaskRequest,
  type Task,
  type TaskPushNotificationConfig,
  TaskState,
} from '../protocol/index.js';
import { PushService } from '../push/index.js';
import {
  isTerminal,
  PageTokens,
  reachOf,
  type StoredTask,
  scopeOf,
  TaskFeed,
  TaskStore,
} from '../tasks/index.js';
import { closesStream, TaskStream } from './streaming/task.stream.js';
import { viewOf } from './task.view.js';

const PAGE_SIZE = 50;

const INTERRUPTED: readonly TaskState[] = [TaskState.INPUT_REQUIRED, TaskState.AUTH_REQUIRED];

/** The eleven operations (specification 3.1), the same for every binding and version. */
@Injectable()
export class TaskService implements A2AOperations {
  constructor(
    private readonly agents: AgentRegistry,
    private readonly intake: Intake,
    private readonly cancellation: Cancellation,
    private readonly runner: TurnRunner,
    private readonly store: TaskStore,
    private readonly feed: TaskFeed,
    private readonly pageTokens: PageTokens,
    private readonly cards: CardService,
    private readonly push: PushService,
  ) {}

  async sendMessage(request: SendMessageRequest, call: CallContext): Promise<SendMessageResponse> {
    const accepted = await this.#accept(request, call);
    if ('message' in accepted) return answer(accepted.message);
    const outcome = new Outcome(accepted);
    try {
      const { returnImmediately, historyLength } = request.configuration ?? {};
      const result = await (returnImmediately
        ? outcome.first()
        : outcome.atRest(accepted.agent.settings.blockingCapMs, call));
      return answer(isTask(result) ? viewOf(result, historyLength) : result);
    } finally {
      void outcome.return();
    }
  }

  async sendStreamingMessage(request: SendMessageRequest, call: CallContext): Promise<EventStream> {
    const accepted = await this.#accept(request, call);
    if ('message' in accepted) return messageStream(accepted.message);
    const { agent, stored, moved } = accepted;
    const outcome = new Outcome(accepted);
    try {
      const first = await outcome.first();
      if (!isTask(first)) return messageStream(first);
      const pauses = closingPauses(agent, call);
      const frame = taskFrame(viewOf(first, request.configuration?.historyLength), stored.version);
      if (moved && closesStream(stateOf(first), pauses)) {
        await outcome.return();
        return only(frame);
      }
      return new TaskStream([frame], outcome, pauses);
    } catch (error) {
      void outcome.return();
      throw error;
    }
  }

  async #accept(request: SendMessageRequest, call: CallContext): Promise<Accepted | Answered> {
    const asksForPush = request.configuration?.taskPushNotificationConfig !== undefined;
    const push = asksForPush ? await this.push.configs.prepare(request, call) : undefined;
    const accepted = await this.intake.accept(request, call, push);
    if ('message' in accepted || accepted.replay) call.reply.set('a2a-idempotent-replay', 'true');
    return accepted;
  }

  async getTask({ id, historyLength }: GetTaskRequest, call: CallContext): Promise<Task> {
    return viewOf((await this.#read(id, call)).task, historyLength);
  }

  async listTasks(request: ListTasksRequest, call: CallContext): Promise<ListTasksResponse> {
    const { contextId, status, pageToken, historyLength, includeArtifacts, statusTimestampAfter } = request;
    const limit = request.pageSize ?? PAGE_SIZE;
    const filter = {
      scope: reachOf(call),
      contextId: contextId || undefined,
      state: status === TaskState.UNSPECIFIED ? undefined : status,
      statusAfter: statusTimestampAfter && timestampMs(statusTimestampAfter),
    };
    const after = pageToken ? this.pageTokens.open(pageToken, filter) : undefined;
    const page = await this.store.list({ ...filter, limit, after });
    const last = page.tasks.at(-1);
    for (const { task } of page.tasks) this.runner.get(task.id)?.announce();
    return create(ListTasksResponseSchema, {
      tasks: page.tasks.map(({ task }) => viewOf(task, historyLength, includeArtifacts ?? false)),
      nextPageToken:
        page.more && last ? this.pageTokens.seal({ statusAt: last.statusAt, id: last.task.id }, filter) : '',
      pageSize: limit,
      totalSize: page.total,
    });
  }

  cancelTask({ id, metadata }: CancelTaskRequest, call: CallContext): Promise<Task> {
    return this.cancellation.cancel(id, scopeOf(call), metadata);
  }

  async subscribeToTask({ id }: SubscribeToTaskRequest, call: CallContext): Promise<EventStream> {
    const tail = this.feed.follow(id, 0);
    try {
      const stored = await this.#read(id, call);
      const { task, version } = stored;
      const seen = call.lastEventId;
      const pauses = closingPauses(this.agents.heir(call.agent, stored.agentVersion), call);
      const resumes = seen !== undefined && seen < version;
      if (resumes && (await this.#keeps(id, seen))) {
        return new TaskStream([], tail.seek(seen, version), pauses);
      }
      if (isTerminal(stateOf(task))) {
        void tail.return();
        return resumes ? only(taskFrame(task, version)) : endedStream(stored, call);
      }
      return new TaskStream([taskFrame(task, version)], tail.seek(version), pauses);
    } catch (error) {
      void tail.return();
      throw error;
    }
  }

  async createTaskPushNotificationConfig(config: TaskPushNotificationConfig, call: CallContext) {
    return this.push.configs.create(config, call);
  }

  async getTaskPushNotificationConfig(request: GetTaskPushNotificationConfigRequest, call: CallContext) {
    return this.push.configs.get(request, call);
  }

  async listTaskPushNotificationConfigs(request: ListTaskPushNotificationConfigsRequest, call: CallContext) {
    return this.push.configs.list(request, call);
  }

  async deleteTaskPushNotificationConfig(
    request: DeleteTaskPushNotificationConfigRequest,
    call: CallContext,
  ) {
    await this.push.configs.delete(request, call);
    return create(EmptySchema);
  }

  async getExtendedAgentCard(_: GetExtendedAgentCardRequest, call: CallContext): Promise<AgentCard> {
    call.reply.set('cache-control', 'private, max-age=300');
    call.reply.set('vary', 'Authorization, X-API-Key, A2A-Version');
    return this.cards.extended(call, call.principal.scopes);
  }

  /** Reading a task shows it: from now on its agent cannot reply directly. */
  async #read(taskId: string, call: CallContext): Promise<StoredTask> {
    const stored = await this.store.read(taskId, reachOf(call));
    if (!stored) throw new A2AError('taskNotFound', { metadata: { taskId } });
    this.runner.get(taskId)?.announce();
    return stored;
  }

  /** Whether the event after `seq` is still in the log. */
  async #keeps(taskId: string, seq: number): Promise<boolean> {
    const [next] = await this.store.events(taskId, seq, 1);
    return next?.seq === seq + 1;
  }
}

function stateOf(task: Task): TaskState {
  return task.status!.state;
}

/** A task that has ended is a stream of itself in 0.3. @throws A2AError `unsupportedOperation` in 1.0 (3.1.6) */
function endedStream({ task, version }: StoredTask, call: CallContext): EventStream {
  if (call.version === '0.3') return only(taskFrame(task, version));
  const message = 'The task has ended; there is nothing to subscribe to';
  throw new A2AError('unsupportedOperation', { message, metadata: { taskId: task.id } });
}

/** The states beside the terminal ones that close a stream; in 0.3, and where nobody serves the task, every interruption. */
function closingPauses(agent: AgentDefinition | undefined, { version }: CallContext): readonly TaskState[] {
  return version === '0.3' ? INTERRUPTED : (agent?.settings.streamClosesAt ?? INTERRUPTED);
}

function isTask(result: Task | Message): result is Task {
  return result.$typeName === 'lf.a2a.v1.Task';
}

function answer(result: Task | Message): SendMessageResponse {
  return create(SendMessageResponseSchema, {
    payload: isTask(result) ? { case: 'task', value: result } : { case: 'message', value: result },
  });
}

function taskFrame(task: Task, version: number): StreamEvent {
  return frame({ case: 'task', value: task }, version);
}

function messageStream(message: Message): EventStream {
  return only(frame({ case: 'message', value: message }));
}

/** A stream of one frame. */
async function* only(frame: StreamEvent): AsyncGenerator<readonly StreamEvent[]> {
  yield [frame];
}

function frame(payload: StreamResponse['payload'], seq?: number): StreamEvent {
  return new StreamEvent({ $typeName: 'lf.a2a.v1.StreamResponse', payload }, seq);
}
