import { type AgentDefinition, type AgentRegistry, isOpenTo, versionForContext } from '../agents/index.js';
import { A2AError, type CallContext, invalidField, type Message } from '../protocol/index.js';
import { isTerminal, type StoredTask, type TaskScope, type TaskStore } from '../tasks/index.js';

/** The version of the agent that a new task begins on. */
export interface ChosenVersion {
  readonly agent: AgentDefinition;
  /** Why it takes no message that it has not taken before: `unsupportedOperation`. */
  readonly refusal?: A2AError;
}

/**
 * Which version of an agent takes a message: the one that its task or its context began on, as long as that is
 * served; else the one that the address names, or the one that rules and weights give to a new context.
 */
export class VersionChoice {
  constructor(
    private readonly agents: AgentRegistry,
    private readonly store: TaskStore,
  ) {}

  /**
   * The version that goes on with a task. One that has ended, or whose version is gone, is answered by whichever
   * there is.
   *
   * @throws A2AError `invalidParams` at the address of another version, `permissionDenied`, `notFound`
   */
  forTask({ task, agentVersion }: StoredTask, call: CallContext): ChosenVersion {
    const heir = this.agents.heir(call.agent, agentVersion);
    if (heir) return { agent: admitted(heir, call, { field: 'message.taskId', agentVersion }) };
    const agent = this.#served(call)[0];
    if (isTerminal(task.status!.state)) return { agent };
    const message = `Version ${agentVersion} of the agent, which the task began on, is no longer served`;
    return { agent, refusal: refused(message, { taskId: task.id, agentVersion: agentVersion! }) };
  }

  /**
   * The same message always draws the same lot, so that a repeat is checked by the version that has taken it.
   *
   * @throws A2AError `invalidParams` for a context of another version than the address names, `permissionDenied`,
   *   `notFound`
   */
  async forNewTask(
    { contextId, messageId }: Message,
    scope: TaskScope,
    call: CallContext,
  ): Promise<ChosenVersion> {
    const { agent: id, agentVersion: asked, principal } = call;
    const versions = this.#served(call);
    const [current] = versions;
    const isPlain = versions.length === 1 && !current.rollout?.isDraining;
    const begun = contextId && !isPlain ? await this.store.contextVersion(contextId, scope) : undefined;
    const heir = begun === undefined ? undefined : this.agents.heir(id, begun);
    if (heir) {
      return { agent: admitted(heir, call, { field: 'message.contextId', agentVersion: begun }) };
    }
    const lot = contextId || JSON.stringify([principal.organisation, principal.subject, messageId]);
    const agent =
      asked === undefined
        ? versionForContext(versions, { contextId: lot, principal })
        : versions.find(({ version }) => version === asked);
    if (agent && !agent.rollout?.isDraining) return { agent };
    const { version } = agent ?? current;
    const message = `Version ${version} of the agent is being replaced and takes no new contexts`;
    return { agent: agent ?? current, refusal: refused(message, { agentVersion: version }) };
  }

  /** @throws A2AError `notFound` where the agent, or the version that is called, was taken away meanwhile */
  #served({ agent, agentVersion }: CallContext): readonly [AgentDefinition, ...AgentDefinition[]] {
    const [current, ...others] = this.agents.versions(agent);
    if (!current || (agentVersion !== undefined && !this.agents.get(agent, agentVersion))) {
      throw new A2AError('notFound', { message: 'There is no such agent', metadata: { agent } });
    }
    return [current, ...others];
  }
}

const refused = (message: string, metadata: Record<string, string>) =>
  new A2AError('unsupportedOperation', { message, metadata });

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
  if (asked !== undefined && agentVersion !== undefined && asked !== agent.version) {
    const heir = agent.version === agentVersion ? '' : `, which version ${agent.version} goes on with`;
    throw invalidField(
      field,
      `began on version ${agentVersion} of the agent${heir}; send it to that version's address or the plain one`,
    );
  }
  if (!isOpenTo(agent, principal)) {
    throw new A2AError('permissionDenied', {
      message: `Version ${agent.version} of the agent is not open to the caller`,
    });
  }
  return agent;
}
