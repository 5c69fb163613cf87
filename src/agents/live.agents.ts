import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { ConfigError, type ConfigProblem, type ConfigValues } from '../config/index.js';
import { type AgentDefinition, AgentRegistry } from './agent.definition.js';
import { type AgentSource, agentsInFile, agentsInFolder } from './agent.source.js';
import type { BackEnds } from './backends/back.ends.js';
import { type BuiltInOptions, builtInAgents, withAccess } from './built-in.agents.js';
import { fileAgent } from './file.agent.js';

export type LiveAgentsOptions = BuiltInOptions &
  Pick<ConfigValues, 'agents' | 'defaultAgent' | 'agentsFile' | 'agentsDir' | 'agentsReloadMs'> &
  Partial<Pick<ConfigValues, 'databaseUrl' | 'pushKeys'>>;

interface Served {
  /** The versions of each, the current one first. */
  readonly agents: ReadonlyMap<string, readonly AgentDefinition[]>;
  readonly default: AgentDefinition;
}

/** An agent of the configuration as it was made; `key` changes with whatever it was made from. */
interface Made {
  readonly key: string;
  readonly source: AgentSource;
  readonly definition: AgentDefinition;
}

/**
 * The agents that the configuration names or describes, looked at again now and then. What was changed wrongly
 * is told to the log and changes nothing. An agent that did not change stays the very same one; turns that run
 * keep the agent they began with.
 */
export class LiveAgents extends AgentRegistry implements OnApplicationBootstrap, OnModuleDestroy {
  readonly #builtIn: readonly AgentDefinition[];
  readonly #listeners: (() => void)[] = [];
  #made: ReadonlyMap<string, Made> = new Map();
  #served!: Served;
  #text = '';
  /** The problems that the log was told last. */
  #told = '';
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;

  private constructor(
    private readonly options: LiveAgentsOptions,
    private readonly backEnds: BackEnds,
  ) {
    super();
    this.#builtIn = builtInAgents(options);
  }

  /** @throws ConfigError with every problem of every agent */
  static async load(options: LiveAgentsOptions, backEnds: BackEnds): Promise<LiveAgents> {
    const agents = new LiveAgents(options, backEnds);
    await agents.reload();
    return agents;
  }

  versions(id: string): readonly AgentDefinition[] {
    return this.#served.agents.get(id) ?? NONE;
  }

  list(): readonly AgentDefinition[] {
    return [...this.#served.agents.values()].flatMap(([current]) => current ?? NONE);
  }

  get default(): AgentDefinition {
    return this.#served.default;
  }

  override onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  onApplicationBootstrap(): void {
    const { agentsReloadMs, agentsFile, agentsDir } = this.options;
    if (agentsReloadMs === 0 || (agentsFile ?? agentsDir) === undefined) return;
    this.#timer = setInterval(() => {
      this.#looking ??= this.#look().finally(() => {
        this.#looking = undefined;
      });
    }, agentsReloadMs).unref();
  }

  async onModuleDestroy(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
  }

  async #look(): Promise<void> {
    try {
      if (await this.reload())
        LOG.log(`Agents were read anew: ${[...this.#served.agents.keys()].join(', ')}`);
    } catch (error) {
      const found = error instanceof ConfigError ? error.problems : [{ where: 'agents', what: `${error}` }];
      const problems = found.map(({ where, what }) => `${where}: ${what}`);
      if (this.#told === problems.join()) return;
      this.#told = problems.join();
      LOG.error({ message: 'The changed agents are not taken', problems });
    }
  }

  /**
   * Reads the agents. True: something has changed.
   * @throws ConfigError with every problem; the agents stay as they were
   */
  async reload(): Promise<boolean> {
    const { sources, problems } = this.#sources();
    const text = JSON.stringify([sources.map(keyOf), problems]);
    if (text === this.#text) return false;
    this.#text = text;
    const made = new Map<string, Made>();
    for (const source of sources) {
      await this.#make(source).then(
        (one) => made.set(nameOf(source), one),
        (error: Error) => {
          problems.push({ where: `${source.where} backend`, what: error.message });
          // Looked at again without a change: the card of another agent may be there the next time.
          this.#text = '';
        },
      );
    }
    problems.push(...twice(sources), ...this.#withoutKey(sources));
    const served = this.#choose(made, problems);
    const isWhole = served && problems.length === 0;
    this.#made = isWhole ? made : new Map([...this.#made, ...made]);
    if (!isWhole) throw new ConfigError(problems);
    this.#served = served;
    this.#told = '';
    for (const listener of this.#listeners) listener();
    return true;
  }

  #sources(): { sources: AgentSource[]; problems: ConfigProblem[] } {
    const { agentsFile, agentsDir } = this.options;
    const found = [
      ...(agentsFile === undefined ? [] : [agentsInFile(agentsFile)]),
      ...(agentsDir === undefined ? [] : [agentsInFolder(agentsDir)]),
    ];
    return {
      sources: found.flatMap(({ sources }) => sources),
      problems: found.flatMap(({ problems }) => problems),
    };
  }

  /** An embedded Postgres comes with a key. */
  #withoutKey(sources: readonly AgentSource[]): ConfigProblem[] {
    const { databaseUrl, pushKeys } = this.options;
    if (databaseUrl === undefined || (pushKeys?.length ?? 0) > 0) return [];
    const what =
      'set PARLEY_PUSH_KEYS; the headers of a turn are stored encrypted with it for as long as it runs';
    return sources
      .filter(({ agent: { backend } }) => 'forwardHeaders' in backend && backend.forwardHeaders)
      .map(({ where }) => ({ where: `${where} backend.forwardHeaders`, what }));
  }

  async #make(source: AgentSource): Promise<Made> {
    const key = keyOf(source);
    const before = this.#made.get(nameOf(source));
    if (before?.key === key) return before;
    const executor = await this.backEnds.executorOf(source.agent, source.folder);
    const shown = await this.backEnds.shownOf(source.agent);
    const definition = withAccess({ ...fileAgent(source.agent, executor), ...shown }, this.options);
    return { key, source, definition };
  }

  /** In the order of the list; agents that it does not name come after. */
  #choose(made: ReadonlyMap<string, Made>, problems: ConfigProblem[]): Served | undefined {
    const { agents: ids, defaultAgent } = this.options;
    const agents = new Map<string, readonly AgentDefinition[]>();
    const described = new Map<string, Made[]>();
    for (const one of made.values()) {
      const { id } = one.definition;
      described.set(id, [...(described.get(id) ?? []), one]);
    }
    for (const id of [...ids, ...described.keys()]) {
      const versions = described.get(id);
      const builtIn = this.#builtIn.filter((one) => one.id === id);
      if (versions) agents.set(id, inOrder(versions, problems));
      else if (builtIn.length > 0) agents.set(id, builtIn);
    }
    if (problems.length > 0) return undefined;
    const names = [...agents.keys()].join(', ');
    const known = new Set([...agents.keys(), ...this.#described]);
    const unknown = ids.filter((id) => !known.has(id));
    const builtIn = this.#builtIn.map(({ id }) => id).join(', ');
    for (const id of unknown) {
      problems.push({
        where: 'PARLEY_AGENTS',
        what: `there is no agent "${id}"; give some of ${builtIn}, or describe it`,
      });
    }
    const [[first] = NONE] = agents.values();
    if (!first) problems.push({ where: 'PARLEY_AGENTS', what: 'no agent is served; name or describe one' });
    const root =
      defaultAgent === undefined ? (agents.get('echo')?.[0] ?? first) : agents.get(defaultAgent)?.[0];
    if (first && !root) {
      problems.push({
        where: 'PARLEY_DEFAULT_AGENT',
        what: `"${defaultAgent}" is not served; give one of ${names}`,
      });
    }
    return root && { agents, default: root };
  }

  /** Ids that the list named because the file described them, at start: those may go. */
  get #described(): ReadonlySet<string> {
    return this.options.agentsFile === undefined
      ? new Set()
      : new Set(this.options.agents.filter((id) => !this.#builtIn.some((one) => one.id === id)));
  }
}

/** Everything that an agent is made from, the time of its module included. */
function keyOf({ agent, folder }: AgentSource): string {
  const { backend } = agent;
  return JSON.stringify([
    agent,
    folder,
    backend.kind === 'module' && changedAt(resolve(folder, backend.path)),
  ]);
}

/** What cannot be looked at is told when the module is loaded. */
function changedAt(path: string): number {
  try {
    return statSync(path).mtimeMs;
  } catch {
    return 0;
  }
}

/** Several versions of one id may be described, each once. */
const nameOf = ({ agent: { id, version } }: AgentSource) => `${id}@${version}`;

function twice(sources: readonly AgentSource[]): ConfigProblem[] {
  const names = sources.map(nameOf);
  return sources
    .filter((source, n) => names.indexOf(nameOf(source)) !== n)
    .map(({ agent: { id, version }, where }) => ({
      where,
      what: `another agent has the id "${id}" and the version ${version} too; give it another one of them`,
    }));
}

/** The current version first: the one that says so, else the only one that says nothing, or that is left. */
function inOrder(made: readonly Made[], problems: ConfigProblem[]): AgentDefinition[] {
  const rollouts = (fits: (rollout: Rollout) => boolean) =>
    made.filter(({ source }) => fits(source.agent.rollout));
  const lasting = rollouts((rollout) => rollout !== 'draining');
  const able =
    [
      rollouts((rollout) => rollout === 'current'),
      rollouts((rollout) => rollout === undefined),
      lasting,
    ].find(({ length }) => length > 0) ?? [];
  for (const { source } of able.slice(1)) {
    const { id } = source.agent;
    const what = `"${id}" has several versions that could be the current one; give rollout: current to one of them`;
    problems.push({ where: `${source.where} rollout`, what });
  }
  const weights = lasting.reduce((sum, { definition }) => sum + (definition.rollout?.weight ?? 0), 0);
  if (weights > 100) {
    const what = 'the weights of its versions are more than 100 together';
    problems.push({ where: `${made[0]!.source.where} rollout`, what });
  }
  const current = able[0] ?? made[0]!;
  return [current, ...made.filter((one) => one !== current)].map(({ definition }) => definition);
}

type Rollout = AgentSource['agent']['rollout'];

const NONE: readonly AgentDefinition[] = [];
const LOG = new Logger('Agents');
