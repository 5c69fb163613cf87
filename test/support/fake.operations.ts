import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { EmptySchema, timestampFromMs } from '@bufbuild/protobuf/wkt';
import { textPart } from '../../src/agents/index.js';
import {
  A2AError,
  type A2AOperations,
  AgentCardSchema,
  type CallContext,
  type EventStream,
  ListTaskPushNotificationConfigsResponseSchema,
  ListTasksResponseSchema,
  type OperationName,
  type RequestOf,
  Role,
  SendMessageResponseSchema,
  StreamEvent,
  StreamResponseSchema,
  type Task,
  TaskPushNotificationConfigSchema,
  TaskSchema,
  TaskState,
} from '../../src/protocol/index.js';

const TIME = timestampFromMs(Date.UTC(2026, 0, 2, 3, 4, 5, 6));

type TaskInit = Extract<MessageInitShape<typeof TaskSchema>, { $typeName?: never }>;

export function aTask(given: TaskInit = {}): Task {
  return create(TaskSchema, {
    id: 'task-1',
    contextId: 'context-1',
    status: { state: TaskState.COMPLETED, timestamp: TIME },
    ...given,
  });
}

/** The event number `seq` of a task: a chunk of its only artifact. */
export function chunk(seq: number, text = `chunk ${seq} `): StreamEvent {
  const artifact = { artifactId: 'a', parts: [textPart(text)] };
  const value = { taskId: 'task-1', contextId: 'context-1', artifact, append: seq > 1 };
  return new StreamEvent(create(StreamResponseSchema, { payload: { case: 'artifactUpdate', value } }), seq);
}

/** A stream of these batches. */
export async function* streamOf(...batches: StreamEvent[][]): EventStream {
  yield* batches;
}

export interface RecordedCall {
  readonly operation: OperationName;
  readonly request: unknown;
  readonly call: CallContext;
}

/** Answers every operation with something valid and remembers what it was asked. Assign a method to change it. */
export class FakeOperations implements A2AOperations {
  readonly calls: RecordedCall[] = [];

  sendMessage: A2AOperations['sendMessage'] = async (request, call) => {
    this.#record('sendMessage', request, call);
    const history = request.message ? [request.message] : [];
    return create(SendMessageResponseSchema, { payload: { case: 'task', value: aTask({ history }) } });
  };
  sendStreamingMessage: A2AOperations['sendStreamingMessage'] = async (request, call) => {
    this.#record('sendStreamingMessage', request, call);
    return streamOf([chunk(1)], [chunk(2), chunk(3)]);
  };
  getTask: A2AOperations['getTask'] = async (request, call) => {
    this.#record('getTask', request, call);
    if (request.id === 'unknown') throw new A2AError('taskNotFound');
    return aTask({ id: request.id });
  };
  listTasks: A2AOperations['listTasks'] = async (request, call) => {
    this.#record('listTasks', request, call);
    return create(ListTasksResponseSchema, { tasks: [aTask()], pageSize: 50, totalSize: 1 });
  };
  cancelTask: A2AOperations['cancelTask'] = async (request, call) => {
    this.#record('cancelTask', request, call);
    return aTask({ id: request.id, status: { state: TaskState.CANCELED, timestamp: TIME } });
  };
  subscribeToTask: A2AOperations['subscribeToTask'] = async (request, call) => {
    this.#record('subscribeToTask', request, call);
    return streamOf([chunk(1)]);
  };
  createTaskPushNotificationConfig: A2AOperations['createTaskPushNotificationConfig'] = async (
    request,
    call,
  ) => {
    this.#record('createTaskPushNotificationConfig', request, call);
    return create(TaskPushNotificationConfigSchema, { ...request, id: request.id || 'config-1' });
  };
  getTaskPushNotificationConfig: A2AOperations['getTaskPushNotificationConfig'] = async (request, call) => {
    this.#record('getTaskPushNotificationConfig', request, call);
    return create(TaskPushNotificationConfigSchema, {
      id: request.id,
      taskId: request.taskId,
      url: 'https://x.example',
    });
  };
  listTaskPushNotificationConfigs: A2AOperations['listTaskPushNotificationConfigs'] = async (
    request,
    call,
  ) => {
    this.#record('listTaskPushNotificationConfigs', request, call);
    return create(ListTaskPushNotificationConfigsResponseSchema, {});
  };
  deleteTaskPushNotificationConfig: A2AOperations['deleteTaskPushNotificationConfig'] = async (
    request,
    call,
  ) => {
    this.#record('deleteTaskPushNotificationConfig', request, call);
    return create(EmptySchema);
  };
  getExtendedAgentCard: A2AOperations['getExtendedAgentCard'] = async (request, call) => {
    this.#record('getExtendedAgentCard', request, call);
    return create(AgentCardSchema, { name: 'Extended' });
  };

  get last(): RecordedCall {
    const last = this.calls.at(-1);
    if (last === undefined) throw new Error('No operation was called');
    return last;
  }

  #record<O extends OperationName>(operation: O, request: RequestOf<O>, call: CallContext): void {
    this.calls.push({ operation, request, call });
  }
}

/** A request that SendMessage and SendStreamingMessage take. */
export const HELLO = {
  message: { messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'hello' }] },
} as const;
export const HELLO_BINARY = { message: { messageId: 'm-1', role: Role.USER, parts: [textPart('hello')] } };
