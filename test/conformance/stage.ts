import { afterAll, beforeAll } from 'vitest';
import {
  AGENT_SETTINGS,
  type AgentDefinition,
  type AgentEvent,
  type TurnContext,
} from '../../src/agents/index.js';
import { A2A_SCOPES, Authenticator, type Credentials } from '../../src/auth/index.js';
import type { Principal } from '../../src/protocol/index.js';
import { type Bindings, startBindings } from '../support/bindings.js';
import { fakeAgent } from '../support/fake.agents.js';
import { House, type Replica } from '../support/house.js';
import { type RunningService, startService } from '../support/service.js';
import { type BindingClient, GrpcClient, JsonRpcClient, RestClient } from './clients/index.js';
import { OldGrpcClient } from './v03/old.grpc.client.js';
import { OldJsonRpcClient, OldRestClient } from './v03/old.http.clients.js';

/** Something that answers on three bindings, in 1.0 and in 0.3. */
export abstract class Stage {
  readonly #clients = new Map<string, BindingClient[]>();
  readonly #oldClients = new Map<string, BindingClient[]>();

  abstract get httpUrl(): string;
  abstract get grpcAddress(): string;

  /** One client per binding, of the default agent or the one named. */
  clients(agent = ''): BindingClient[] {
    const known = this.#clients.get(agent);
    if (known) return known;
    const base = agent ? `${this.httpUrl}/agents/${agent}` : this.httpUrl;
    const made = [
      new JsonRpcClient(`${base}/jsonrpc`),
      new RestClient(`${base}/rest`),
      new GrpcClient(this.grpcAddress, agent),
    ];
    this.#clients.set(agent, made);
    return made;
  }

  /** The same in 0.3. */
  oldClients(agent = ''): BindingClient[] {
    const known = this.#oldClients.get(agent);
    if (known) return known;
    const base = agent ? `${this.httpUrl}/agents/${agent}` : this.httpUrl;
    const made = [
      new OldJsonRpcClient(`${base}/jsonrpc`),
      new OldRestClient(`${base}/rest/v1`),
      new OldGrpcClient(this.grpcAddress, agent),
    ];
    this.#oldClients.set(agent, made);
    return made;
  }

  everyone(): BindingClient[] {
    return [...this.clients(), ...this.oldClients()];
  }

  protected closeClients(): void {
    for (const clients of [this.#clients, this.#oldClients]) {
      for (const client of [...clients.values()].flat()) client.close();
    }
  }
}

/** The built service as a process, from before the file's first test until after the last one. */
export class ServiceStage extends Stage {
  service!: RunningService;

  constructor(env: Readonly<Record<string, string>> = {}) {
    super();
    beforeAll(async () => {
      this.service = await startService({ env });
    });
    afterAll(async () => {
      this.closeClients();
      await this.service?.stop();
    });
  }

  get httpUrl(): string {
    return this.service.httpUrl;
  }

  get grpcAddress(): string {
    return this.service.grpcAddress;
  }
}

const VERSIONS = ['1.0', '0.3'] as const;

export type Script = (turn: TurnContext) => AsyncIterable<AgentEvent> | Iterable<AgentEvent>;

export interface ScriptStageOptions {
  /** What the agent does, by the first word of the task's first message. */
  readonly scripts: Readonly<Record<string, Script>>;
  /** The rest of its definition; `settings` are those that differ from the usual ones. */
  readonly agent?: Partial<Omit<AgentDefinition, 'settings'>> & {
    readonly settings?: Partial<AgentDefinition['settings']>;
  };
}

/** An agent of the test's own behind the three bindings, in this process, over a database of its own. */
export class ScriptStage extends Stage {
  replica!: Replica;
  #house!: House;
  #bindings!: Bindings<Replica['service']>;

  constructor({ scripts, agent }: ScriptStageOptions) {
    super();
    const settings = { ...AGENT_SETTINGS, ...agent?.settings };
    const script = async function* (turn: TurnContext) {
      const { content } = turn.history[0]!.parts[0]!;
      const word = /^\S*/.exec(content.case === 'text' ? content.value : '')![0];
      const chosen = scripts[word];
      if (!chosen) throw new Error(`no script ${word}`);
      yield* chosen(turn);
    };
    const definition = fakeAgent({ ...agent, settings });
    beforeAll(async () => {
      this.#house = await House.open();
      this.replica = this.#house.replica({ script, settings, agent: definition });
      this.#bindings = await startBindings({
        operations: this.replica.service,
        agents: [definition],
        capabilities: {
          pushNotifications: false,
          extendedAgentCard: false,
          versions: { JSONRPC: VERSIONS, 'HTTP+JSON': VERSIONS, GRPC: VERSIONS },
        },
        authenticator: new NamedCaller(),
      });
    });
    afterAll(async () => {
      this.closeClients();
      await this.#bindings?.app.close();
      await this.#house?.close();
    });
  }

  get httpUrl(): string {
    return this.#bindings.url;
  }

  get grpcAddress(): string {
    return this.#bindings.grpc;
  }
}

/** Believes whoever says who they are: `x-caller: organisation/subject`. */
class NamedCaller extends Authenticator {
  async authenticate(credentials: Credentials): Promise<Principal> {
    const [organisation = '', subject = ''] = (credentials.header('x-caller') ?? 'acme/ann').split('/');
    return { organisation, subject, scopes: A2A_SCOPES };
  }
}
