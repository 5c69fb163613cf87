import { type AgentDefinition, type AgentRegistry, isOpenTo, versionForContext } from '../agents/index.js';
import { A2AError, type CallContext, invalidField, type Message } from '../protocol/index.js';
import { type Ids, isTerminal, type StoredTask, type TaskScope, type TaskStore } from '../tasks/index.js';

/** The version of the agent that a new task begins on. */
export interface ChosenVersion {
  readonly agent: AgentDefinition;
  /** The version is draining, and the task would open a context. */
  readonly isClosed: boolean;
}

/**
 * Which version of an agent takes a message: the one that its task or its context began on, as long as that is
 * served; else the one that the address names, or the one that rules and weights give to a new context.
 */
export class VersionChoice {
  constructor(
    private readonly agents: AgentRegistry,
    private readonly store: TaskStore,
    private readonly ids: Ids,
  ) {}

  /**
   * The version that goes on with a task. One that has ended is answered by whichever there is.
   *
   * @throws A2AError `unsupportedOperation` where that version is gone, `invalidParams` at the address of another
   *   one, `permissionDenied`
   */
  forTask({ task, agentVersion }: StoredTask, call: CallContext): AgentDefinition {
    const heir = this.agents.heir(call.agent, agentVersion);
    if (heir) return admitted(heir, call, { field: 'message.taskId', agentVersion });
    if (isTerminal(task.status!.state)) return this.agents.get(call.agent)!;
    throw new A2AError('unsupportedOperation', {
      message: `Version ${agentVersion} of the agent, which the task began on, is no longer served`,
      metadata: { taskId: task.id, agentVersion: agentVersion! },
    });
  }

  /** @throws A2AError `invalidParams` for a context of another version than the address names, `permissionDenied` */
  async forNewTask({ contextId }: Message, scope: TaskScope, call: CallContext): Promise<ChosenVersion> {
    const { agent: id, agentVersion: asked, principal } = call;
    const versions = this.agents.versions(id);
    const current = versions[0]!;
    const isPlain = versions.length === 1 && !current.rollout?.isDraining;
    const begun = contextId && !isPlain ? await this.store.contextVersion(contextId, scope) : undefined;
    const heir = begun === undefined ? undefined : this.agents.heir(id, begun);
    if (heir) {
      const agent = admitted(heir, call, { field: 'message.contextId', agentVersion: begun });
      return { agent, isClosed: false };
    }
    const agent =
      asked === undefined
        ? versionForContext(versions, { contextId: contextId || this.ids.next(), principal })
        : this.agents.get(id, asked);
    return { agent: agent ?? current, isClosed: agent === undefined || agent.rollout?.isDraining === true };
  }
}

interface Begun {
  /** What of the message names the version. */
  readonly field: string;
  readonly agentVersion: string | undefined;
}

/** The version, for a caller who may use it and did not ask for another one. */
function admitted(
  agent: AgentDefinition,
  call: CallContext,
  { field, agentVersion }: Begun,
): AgentDefinition {
  const { agentVersion: asked, principal } = call;
  if (asked !== undefined && agentVersion !== undefined && asked !== agentVersion) {
    throw invalidField(
      field,
      `began on version ${agentVersion} of the agent; send it to that version's address or the plain one`,
    );
  }
  if (!isOpenTo(agent, principal)) {
    throw new A2AError('permissionDenied', {
      message: `Version ${agent.version} of the agent is not open to the caller`,
    });
  }
  return agent;
}
