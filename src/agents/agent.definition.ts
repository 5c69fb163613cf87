import type { MessageInitShape } from '@bufbuild/protobuf';
import { type AgentCardSchema, TaskState } from '../protocol/index.js';
import type { AgentExecutor } from './agent.executor.js';
import { isNewer, majorOf, type Rollout } from './agent.versions.js';

type CardInit = MessageInitShape<typeof AgentCardSchema>;
export type SkillInit = NonNullable<CardInit['skills']>[number];
export type ProviderInit = NonNullable<CardInit['provider']>;

/**
 * What happens to a turn whose replica died: run again at most `retries` times, then (or at once with 0) FAILED. A
 * replica that goes down in order hands its turns over: they run again in any case.
 */
export interface CrashPolicy {
  readonly retries: number;
}

/** How the service treats an agent. Times in milliseconds. */
export interface AgentSettings {
  /** A blocking send returns the running task after this long. */
  readonly blockingCapMs: number;
  /** A turn that yields nothing for this long fails with the reason. */
  readonly inactivityMs: number;
  /** From the cancel signal until the service commits CANCELED by itself. */
  readonly cancelGraceMs: number;
  /** Turns that one replica runs at once; further ones wait as SUBMITTED. */
  readonly concurrency: number;
  /** Events in flight between the agent and the log before the agent has to wait. */
  readonly window: number;
  /** Characters of JSON that a task may come to: it then takes no more messages, and a turn that goes on fails. */
  readonly maxTaskSize: number;
  readonly crash: CrashPolicy;
  /** The same caller, messageId and content give the same task. */
  readonly idempotentSend: boolean;
  /**
   * The agent may answer with a direct Message. A stream or an immediate reply then waits up to
   * `directReplyWindowMs` for the first event before it shows the task; a Message that comes later completes
   * the task with itself as the status message.
   */
  readonly directReplies: boolean;
  readonly directReplyWindowMs: number;
  /** Non-terminal states at which a stream closes. */
  readonly streamClosesAt: readonly TaskState[];
  /** Joins adjacent text parts of an artifact when the task ends. */
  readonly compactText: boolean;
  /** A2A 0.3 is served beside 1.0. */
  readonly v03: boolean;
  /** Headers of the caller that the agent is passed, by lower-case names. */
  readonly forwardHeaders: readonly string[];
}

export const AGENT_SETTINGS: AgentSettings = {
  blockingCapMs: 300_000,
  inactivityMs: 300_000,
  cancelGraceMs: 5_000,
  concurrency: 1_000,
  window: 256,
  maxTaskSize: 64 * 1024 * 1024,
  crash: { retries: 0 },
  idempotentSend: true,
  directReplies: false,
  directReplyWindowMs: 200,
  streamClosesAt: [TaskState.INPUT_REQUIRED],
  compactText: false,
  v03: false,
  forwardHeaders: [],
};

/** Who may use an agent, beside what the operations need. Left out: every caller. */
export interface AgentAccess {
  /** Shows the card, and the agent in the catalog, to callers with a credential only. */
  readonly isPrivate?: boolean;
  /** The only organisations that the agent is there for. Everyone else finds no such agent. */
  readonly organisations?: readonly string[];
  /** Scopes that each call needs beside the operation's own, as tokens name them. */
  readonly scopes?: readonly string[];
}

/** A skill on the extended card, for callers who hold its scope; without one for every caller who may use the agent. */
export interface ExtendedSkill {
  readonly skill: SkillInit;
  /** As tokens name it. */
  readonly scope?: string;
}

/** An agent as the operator describes it. The card is built from this and from what is really served. */
export interface AgentDefinition {
  /** Names the agent in addresses and as `tenant`: `[a-z0-9][a-z0-9-]{0,62}`. */
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** The agent's own release: one id can be served in several at once. `[A-Za-z0-9][A-Za-z0-9._-]{0,62}`. */
  readonly version: string;
  /** What part it takes beside other versions of the same id. */
  readonly rollout?: Rollout;
  readonly provider?: ProviderInit;
  readonly documentationUrl?: string;
  readonly iconUrl?: string;
  readonly skills: readonly SkillInit[];
  /** Makes the card declare an extended one, which shows these beside `skills`. */
  readonly extendedSkills?: readonly ExtendedSkill[];
  readonly access?: AgentAccess;
  readonly defaultInputModes: readonly string[];
  readonly defaultOutputModes: readonly string[];
  readonly extensions?: readonly { uri: string; description?: string; required?: boolean }[];
  readonly streaming: boolean;
  readonly settings: AgentSettings;
  readonly executor: AgentExecutor;
}

/** Whether only callers with a credential see its card: what is not there for everyone is not shown to everyone. */
export const isPrivate = ({ access }: Pick<AgentDefinition, 'access'>): boolean =>
  access?.isPrivate === true || access?.organisations !== undefined;

/** The agents that this service serves. They may change while it runs. */
export abstract class AgentRegistry {
  /** The versions of the agent of that id, the current one first; none when there is no such agent. */
  abstract versions(id: string): readonly AgentDefinition[];
  /** The current version of every agent. */
  abstract list(): readonly AgentDefinition[];
  /** The agent at the root addresses and behind an empty tenant. */
  abstract get default(): AgentDefinition;
  /** Calls back after every change of what the others answer. */
  onChange(_listener: () => void): void {}

  /** The agent of that id, in that version or the current one; undefined when it is not served. */
  get(id: string, version?: string): AgentDefinition | undefined {
    const versions = this.versions(id);
    return version === undefined ? versions[0] : versions.find((agent) => agent.version === version);
  }

  /**
   * What goes on with work that a version began: the version itself, else the newest of the same major number.
   * Undefined: nothing served may.
   */
  heir(id: string, version: string | undefined): AgentDefinition | undefined {
    const exact = this.get(id, version);
    if (exact || version === undefined) return exact;
    return this.versions(id)
      .filter((agent) => majorOf(agent.version) === majorOf(version))
      .reduce<AgentDefinition | undefined>(
        (newest, agent) => (newest && isNewer(newest.version, agent.version) ? newest : agent),
        undefined,
      );
  }
}
