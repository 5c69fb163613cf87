import {
  type Artifact,
  type Message,
  Role,
  type StreamResponse,
  type Task,
  type TaskArtifactUpdateEvent,
  TaskState,
  type TaskStatusUpdateEvent,
} from '../protocol/index.js';

/**
 * A task being rebuilt from its log: what a client gets that folds the same stream. Applying an event costs
 * the same however long the task already is. The fold owns its task and never changes the events.
 */
export class TaskFold {
  readonly task: Task;
  readonly #history: Set<string>;
  readonly #artifacts: Map<string, Artifact>;

  /** Starts from the Task of the log's first event, or from a snapshot. */
  constructor(start: Task) {
    this.task = { ...start, artifacts: start.artifacts.map(own), history: [...start.history] };
    this.#history = new Set(start.history.map((message) => message.messageId));
    this.#artifacts = new Map(this.task.artifacts.map((artifact) => [artifact.artifactId, artifact]));
  }

  get state(): TaskState {
    return this.task.status?.state ?? TaskState.SUBMITTED;
  }

  has(artifactId: string): boolean {
    return this.#artifacts.has(artifactId);
  }

  /** Applies the next event of the log. A second Task event replaces nothing: the log has only one. */
  apply({ payload }: StreamResponse): void {
    switch (payload.case) {
      case 'statusUpdate':
        this.#enter(payload.value);
        break;
      case 'artifactUpdate':
        this.#update(payload.value);
        break;
      case 'message':
        this.#retireStatusMessage();
        this.#remember(payload.value);
    }
  }

  #enter({ status, metadata }: TaskStatusUpdateEvent): void {
    this.#retireStatusMessage();
    this.task.status = status;
    if (metadata) this.task.metadata = { ...this.task.metadata, ...metadata };
  }

  /** A status message moves into the history when something follows it. */
  #retireStatusMessage(): void {
    const { status } = this.task;
    if (!status?.message) return;
    this.#remember(status.message);
    this.task.status = { ...status, message: undefined };
  }

  /** What an agent says again is known already; what a caller says is new, also under an id used before. */
  #remember(message: Message): void {
    if (message.role === Role.AGENT && this.#history.has(message.messageId)) return;
    this.#history.add(message.messageId);
    this.task.history.push(message);
  }

  #update({ artifact, append }: TaskArtifactUpdateEvent): void {
    if (!artifact) return;
    const known = this.#artifacts.get(artifact.artifactId);
    if (known && append) {
      extend(known, artifact);
      return;
    }
    const made = own(artifact);
    this.#artifacts.set(artifact.artifactId, made);
    if (known) this.task.artifacts[this.task.artifacts.indexOf(known)] = made;
    else this.task.artifacts.push(made);
  }
}

function own(artifact: Artifact): Artifact {
  return { ...artifact, parts: [...artifact.parts], extensions: [...artifact.extensions] };
}

function extend(known: Artifact, chunk: Artifact): void {
  for (const part of chunk.parts) known.parts.push(part);
  if (chunk.name) known.name = chunk.name;
  if (chunk.description) known.description = chunk.description;
  if (chunk.metadata) known.metadata = { ...known.metadata, ...chunk.metadata };
  for (const uri of chunk.extensions) if (!known.extensions.includes(uri)) known.extensions.push(uri);
}
