import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { AgentEvent } from '../agents/index.js';
import {
  type Artifact,
  type Message,
  Role,
  type StreamResponse,
  StreamResponseSchema,
  sanitiseAgentOutput,
  type Task,
  TaskArtifactUpdateEventSchema,
  TaskState,
  type TaskStatus,
  TaskStatusUpdateEventSchema,
} from '../protocol/index.js';
import type { Clock, Ids } from '../tasks/index.js';

/** The agent broke the protocol: the turn fails as InvalidAgentResponse. The text goes to the log, not to callers. */
export class InvalidAgentOutput extends Error {
  override name = 'InvalidAgentOutput';
}

/** Turns what an agent of one task yields into events for the log: ids, times, roles and names filled in. */
export class AgentOutput {
  constructor(
    private readonly task: Pick<Task, 'id' | 'contextId'>,
    private readonly clock: Clock,
    private readonly ids: Ids,
  ) {}

  /** One event, or several where the agent gave a whole Task. Throws {@link InvalidAgentOutput}. */
  events(event: AgentEvent): StreamResponse[] {
    const response = sanitised(event);
    const { payload } = response;
    switch (payload.case) {
      case 'statusUpdate':
        this.#address(payload.value);
        payload.value.status = this.#status(payload.value.status);
        return [response];
      case 'artifactUpdate':
        this.#address(payload.value);
        payload.value.artifact = this.#artifact(payload.value.artifact, payload.value.append);
        return [response];
      case 'message':
        payload.value = this.#message(payload.value);
        return [response];
      case 'task':
        return this.#taskEvents(payload.value);
      default:
        throw new InvalidAgentOutput('an event without payload');
    }
  }

  /** A status event of the service's own making. */
  status(state: TaskState, message?: Message, metadata?: Task['metadata']): StreamResponse {
    const status = { state, message, timestamp: timestampFromMs(this.clock.now()) };
    const value = create(TaskStatusUpdateEventSchema, { status, metadata });
    this.#address(value);
    return { $typeName: 'lf.a2a.v1.StreamResponse', payload: { case: 'statusUpdate', value } };
  }

  text(text: string): Message {
    return this.#message({
      $typeName: 'lf.a2a.v1.Message',
      messageId: '',
      contextId: '',
      taskId: '',
      role: Role.AGENT,
      parts: [
        { $typeName: 'lf.a2a.v1.Part', content: { case: 'text', value: text }, filename: '', mediaType: '' },
      ],
      extensions: [],
      referenceTaskIds: [],
    });
  }

  /** A whole Task says nothing that the log knows already: its history, artifacts and status become events. */
  #taskEvents(task: Task): StreamResponse[] {
    const history: AgentEvent[] = task.history
      .filter((message) => message.role === Role.AGENT)
      .map((value) => ({ case: 'message', value }));
    const artifacts: AgentEvent[] = task.artifacts.map((artifact) => ({
      case: 'artifactUpdate',
      value: create(TaskArtifactUpdateEventSchema, { artifact }),
    }));
    const status: AgentEvent[] = task.status
      ? [{ case: 'statusUpdate', value: { status: task.status, metadata: task.metadata } }]
      : [];
    return [...history, ...artifacts, ...status].flatMap((event) => this.events(event));
  }

  #address(event: { taskId: string; contextId: string }): void {
    event.taskId = this.task.id;
    event.contextId = this.task.contextId;
  }

  #status(status: TaskStatus | undefined): TaskStatus {
    if (!status || status.state === TaskState.UNSPECIFIED || TaskState[status.state] === undefined) {
      throw new InvalidAgentOutput('a status update without one of the nine states');
    }
    status.timestamp = timestampFromMs(this.clock.now());
    if (status.message) status.message = this.#message(status.message);
    return status;
  }

  #message(message: Message): Message {
    if (message.parts.length === 0) throw new InvalidAgentOutput('a message without parts');
    message.messageId ||= this.ids.next();
    message.role = Role.AGENT;
    this.#address(message);
    return message;
  }

  #artifact(artifact: Artifact | undefined, append: boolean): Artifact {
    if (!artifact) throw new InvalidAgentOutput('an artifact update without artifact');
    if (artifact.parts.length === 0 && !append) throw new InvalidAgentOutput('an artifact without parts');
    if (!artifact.artifactId) {
      artifact.artifactId = `${this.task.id}-response`;
      artifact.name ||= 'response';
    }
    return artifact;
  }
}

function sanitised(event: AgentEvent): StreamResponse {
  const response = create(StreamResponseSchema, { payload: event });
  try {
    sanitiseAgentOutput(response);
  } catch (cause) {
    throw new InvalidAgentOutput('data that clients could not read', { cause });
  }
  return response;
}
