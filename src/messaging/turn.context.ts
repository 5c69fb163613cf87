import type { JsonObject } from '@bufbuild/protobuf';
import type { Approval, TurnContext } from '../agents/index.js';
import { type Message, type Principal, Role, type StreamResponse, type Task } from '../protocol/index.js';
import { TaskFold, type TaskStore, type TurnClaim } from '../tasks/index.js';
import { approvalOf } from './approval.event.js';
import type { TurnInbox } from './turn.inbox.js';

/** The message that an entry of the log brought: a caller's own entry, or the task's first. */
function messageOf({ payload }: StreamResponse): Message | undefined {
  if (payload.case === 'task') return payload.value.history[0];
  return payload.case === 'message' ? payload.value : undefined;
}

const NO_SCOPES: ReadonlySet<string> = new Set();
const NO_HEADERS: Readonly<Record<string, string>> = {};

/** What one turn of a claimed task is given. */
export class RunningTurnContext implements TurnContext {
  readonly task: Task;
  readonly message: Message;
  readonly approval: Approval | undefined;

  constructor(
    private readonly claim: TurnClaim,
    readonly inbox: TurnInbox,
    readonly signal: AbortSignal,
    private readonly store: Pick<TaskStore, 'context' | 'readMany'>,
  ) {
    const { stored, trigger } = claim;
    // The turn's own copy: the log's fold goes on changing its task.
    this.task = new TaskFold(stored.task).task;
    this.approval = approvalOf(trigger.response);
    this.message =
      messageOf(trigger.response) ?? this.task.history.findLast(({ role }) => role === Role.USER)!;
  }

  get history(): readonly Message[] {
    return this.task.history;
  }

  get acceptedOutputModes(): readonly string[] {
    return this.claim.request.acceptedOutputModes ?? [];
  }

  get metadata(): JsonObject {
    return this.claim.request.metadata ?? {};
  }

  get extensions(): readonly string[] {
    return this.claim.request.extensions ?? [];
  }

  get principal(): Principal {
    const { organisation, owner } = this.claim.scope;
    return { organisation, subject: owner, scopes: NO_SCOPES };
  }

  get headers(): Readonly<Record<string, string>> {
    return this.claim.request.headers ?? NO_HEADERS;
  }

  get traceparent(): string | undefined {
    return this.claim.request.traceparent;
  }

  get trigger(): number {
    return this.claim.trigger.seq!;
  }

  get attempt(): number {
    return this.claim.attempt;
  }

  get crashes(): number {
    return this.claim.crashes;
  }

  async earlierTasks(limit = 20): Promise<Task[]> {
    const tasks = await this.store.context(this.task.contextId, this.claim.scope, limit + 1);
    return tasks.filter(({ id }) => id !== this.task.id).slice(0, limit);
  }

  referencedTasks(): Promise<Task[]> {
    return this.store.readMany(this.message.referenceTaskIds, this.claim.scope);
  }
}
