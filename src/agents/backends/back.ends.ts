import { fetchFailure } from '../../telemetry/index.js';
import type { AgentDefinition } from '../agent.definition.js';
import type { AgentExecutor } from '../agent.executor.js';
import type { AgentFile } from '../agent.schema.js';
import type { Callbacks } from './callbacks.js';
import { CommandExecutor } from './command.executor.js';
import { LimitedExecutor } from './limited.executor.js';
import { moduleExecutor } from './module.executor.js';

/** What stands behind the agents of the configuration. Clients with a library of their own are loaded when one needs them. */
export class BackEnds {
  constructor(private readonly callbacks: Callbacks) {}

  /**
   * The executor of an agent whose file lies in `folder`.
   *
   * @throws Error that says what is wrong with its module
   */
  async executorOf(agent: AgentFile, folder: string): Promise<AgentExecutor> {
    return new LimitedExecutor(agent.id, await this.#made(agent, folder), agent.limits.totalMs);
  }

  /**
   * What an agent shows of the one behind it, over what its file says; nothing for most.
   *
   * @throws Error where the other agent's card cannot be read
   */
  async shownOf({ backend, skills }: AgentFile): Promise<Partial<AgentDefinition>> {
    if (backend.kind !== 'a2a' || !backend.card) return {};
    const { A2AClient } = await import('./a2a.client.js');
    const card = await new A2AClient(backend).card().catch((cause: unknown) => {
      throw new Error(`the card of ${backend.url} cannot be read (${fetchFailure(cause)})`, { cause });
    });
    return {
      ...(skills === undefined && {
        skills: card.skills.map((skill) => ({ ...skill, securityRequirements: [] })),
      }),
      defaultInputModes: card.defaultInputModes,
      defaultOutputModes: card.defaultOutputModes,
      provider: card.provider,
      documentationUrl: card.documentationUrl,
      iconUrl: card.iconUrl,
    };
  }

  async #made({ backend, crashRetries = 0 }: AgentFile, folder: string): Promise<AgentExecutor> {
    switch (backend.kind) {
      case 'module':
        return moduleExecutor(backend, folder);
      case 'http': {
        const { HttpExecutor } = await import('./http.executor.js');
        return new HttpExecutor(backend, this.callbacks, crashRetries > 0);
      }
      case 'command':
        return new CommandExecutor(backend, folder);
      case 'openai': {
        const { OpenAiExecutor } = await import('./openai.executor.js');
        return new OpenAiExecutor(backend);
      }
      case 'a2a': {
        const { A2AExecutor } = await import('./a2a.executor.js');
        return new A2AExecutor(backend);
      }
      case 'mcp': {
        const { McpExecutor } = await import('./mcp.executor.js');
        return new McpExecutor(backend, folder);
      }
    }
  }
}
