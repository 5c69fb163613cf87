import { AGENT_SETTINGS, type AgentDefinition, type AgentSettings } from './agent.definition.js';
import type { AgentExecutor } from './agent.executor.js';
import type { AgentFile } from './agent.schema.js';
import type { Rollout } from './agent.versions.js';
import { declared } from './extensions/index.js';

/** Kinds whose work can be found again after a crash: it is then gone on with, not begun twice. */
const FOUND_AGAIN: ReadonlySet<string> = new Set(['a2a', 'http']);
const RETRIES = 3;

/** The definition of an agent that an operator has written down. */
export function fileAgent(file: AgentFile, executor: AgentExecutor): AgentDefinition {
  const { id, name, description, version, provider, documentationUrl, iconUrl, streaming } = file;
  const { access } = file;
  return {
    ...{ id, name, description, version, provider, documentationUrl, iconUrl, streaming },
    extensions: extensionsOf(file),
    ...skillsOf(file),
    rollout: rolloutOf(file),
    access: access && {
      isPrivate: access.private,
      organisations: access.organisations,
      scopes: access.scopes,
    },
    defaultInputModes: file.inputModes,
    defaultOutputModes: file.outputModes,
    settings: settingsOf(file),
    executor,
  };
}

/** Skills with a scope stand on the extended card, which is declared where there are any. */
function skillsOf({ id, name, description, skills = [{ id, name, description, tags: [id] }] }: AgentFile) {
  const given = skills.map(({ scope, ...skill }: SkillFile) => ({ skill, scope }));
  const open = given.filter(({ scope }) => scope === undefined).map(({ skill }) => skill);
  const scoped = given.filter(({ scope }) => scope !== undefined);
  return { skills: open, extendedSkills: scoped.length > 0 ? scoped : undefined };
}

function rolloutOf({ rollout }: AgentFile): Rollout | undefined {
  if (rollout === 'draining') return { isDraining: true };
  return typeof rollout === 'object' ? rollout : undefined;
}

/** What a kind of back end tells by itself is declared without being named. */
function extensionsOf({ extensions = [], backend }: AgentFile): AgentDefinition['extensions'] {
  type Declared = NonNullable<AgentDefinition['extensions']>[number];
  const named = extensions.flatMap((given): readonly Declared[] =>
    typeof given === 'string' ? declared(given) : [given],
  );
  const own = backend.kind === 'openai' ? declared('usage/v1') : [];
  return [...named, ...own.filter(({ uri }) => !named.some((given) => given.uri === uri))];
}

type SkillFile = NonNullable<AgentFile['skills']>[number];

const MIB = 1024 * 1024;

function settingsOf({ limits, backend, ...file }: AgentFile): AgentSettings {
  const retries = file.crashRetries ?? (FOUND_AGAIN.has(backend.kind) ? RETRIES : 0);
  return {
    ...AGENT_SETTINGS,
    blockingCapMs: limits.blockingMs ?? AGENT_SETTINGS.blockingCapMs,
    inactivityMs: limits.inactivityMs ?? AGENT_SETTINGS.inactivityMs,
    maxTaskSize: limits.taskMib === undefined ? AGENT_SETTINGS.maxTaskSize : limits.taskMib * MIB,
    cancelGraceMs: limits.cancelGraceMs ?? AGENT_SETTINGS.cancelGraceMs,
    concurrency: limits.concurrency ?? AGENT_SETTINGS.concurrency,
    crash: { retries },
    idempotentSend: file.idempotentSend,
    directReplies: file.directReplies,
    compactText: backend.kind === 'openai' || backend.kind === 'command',
    v03: file.v03,
    forwardHeaders: ('forwardHeaders' in backend && backend.forwardHeaders) || [],
  };
}
