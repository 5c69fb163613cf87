import { isIPv4 } from 'node:net';
import { resolve } from 'node:path';
import { readFlags } from './command.line.js';
import { readConfigFile } from './config.file.js';
import { Config } from './config.js';
import { ConfigError, type ConfigProblem } from './config.problem.js';
import { requiresCredentials } from './identity.js';
import type { Setting } from './setting.js';
import {
  BUILT_IN_AGENTS,
  flagOf,
  SETTING_LIST,
  SETTINGS,
  type SettingName,
  type SettingValues,
  variableOf,
} from './settings.js';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The environment of this process. Nothing else reads it. */
export const environment: Environment = process.env;

interface Given {
  readonly value: unknown;
  readonly where: string;
}

/**
 * The settings from flags, else the environment, else the YAML file that `PARLEY_CONFIG` or `--config` names,
 * else defaults. An empty variable counts as not set.
 *
 * @throws ConfigError with every problem at once
 */
export function loadConfig(env: Environment, argv: readonly string[] = []): Config {
  const flags = readFlags(argv);
  const path = flags.config ?? env.PARLEY_CONFIG;
  const file = path ? readConfigFile(path) : undefined;
  const problems: ConfigProblem[] = [...(file?.problems ?? [])];
  const values: Partial<Record<SettingName, unknown>> = {};

  const find = (name: SettingName): Given | undefined => {
    const variable = variableOf(name);
    if (flags[name] !== undefined) return { value: flags[name], where: flagOf(name) };
    if (env[variable]) return { value: env[variable], where: variable };
    return file?.entries.get(name);
  };
  for (const [name, setting] of SETTING_LIST) {
    const given = find(name);
    const result = setting.schema.safeParse(given?.value);
    if (result.success) values[name] = result.data;
    else for (const issue of result.error.issues) problems.push(problemOf(given, setting, issue.message));
  }
  for (const [name, { where }] of file?.entries ?? []) {
    if (!(name in SETTINGS))
      problems.push({ where, what: 'there is no such setting; --help lists them all' });
  }
  values.agents ??= values.agentsDir === undefined ? BUILT_IN_AGENTS : [];
  problems.push(...contradictions(values as Partial<SettingValues>));
  if (problems.length > 0) throw new ConfigError([...problems, ...slips(env)]);
  const described =
    file?.entries.get('agents') !== undefined && find('agents') === file.entries.get('agents');
  return complete(values as SettingValues, described ? path : undefined);
}

/** Variables that look like settings but are none, so that a slip of the pen does not go unnoticed. */
export function unknownVariables(env: Environment): string[] {
  const known = new Set(['PARLEY_CONFIG', ...SETTING_LIST.map(([name]) => variableOf(name))]);
  // Kubernetes sets the latter group by itself where a Service is called "parley".
  const foreign = /^PARLEY_(TEST_.*|PORT|(.*_)?(SERVICE_HOST|SERVICE_PORT.*|PORT_\d+_.*))$/;
  return Object.keys(env).filter(
    (name) => name.startsWith('PARLEY_') && !known.has(name) && !foreign.test(name),
  );
}

/** A slip of the pen is often why something else is missing. */
const slips = (env: Environment): ConfigProblem[] =>
  unknownVariables(env).map((where) => ({ where, what: 'there is no such setting' }));

function problemOf(given: Given | undefined, setting: Setting, advice: string): ConfigProblem {
  const shown = setting.secret ? 'the value is not valid' : `${JSON.stringify(given?.value)} is not valid`;
  return { where: given?.where ?? 'default', what: `${shown}; ${advice}` };
}

/** What is wrong between settings that are each valid. */
function contradictions(values: Partial<SettingValues>): ConfigProblem[] {
  const { agents, agentsDir, defaultAgent, host, httpPort, grpcPort, insecureOpen } = values;
  const { oidcIssuers = [], oidcAudience = [], apiKeys } = values;
  const problems: ConfigProblem[] = [];
  if (agents && defaultAgent && agentsDir === undefined && !agents.includes(defaultAgent)) {
    problems.push({
      where: variableOf('defaultAgent'),
      what: `"${defaultAgent}" is not served; give one of ${agents.join(', ')}, or add it to ${variableOf('agents')}`,
    });
  }
  if (httpPort && httpPort === grpcPort) {
    problems.push({
      where: variableOf('grpcPort'),
      what: `${grpcPort} is the HTTP port too; give another one`,
    });
  }
  if (oidcIssuers.length > 0 && oidcAudience.length === 0) {
    problems.push({
      where: variableOf('oidcAudience'),
      what: 'not set; give the audience of the tokens, or tokens that were meant for others would be accepted',
    });
  }
  if (oidcAudience.length > 0 && oidcIssuers.length === 0) {
    problems.push({ where: variableOf('oidcIssuers'), what: 'not set; give the issuers of the tokens' });
  }
  const pushes = values.pushUnsigned || (values.pushSecrets?.length ?? 0) > 0;
  if (values.databaseUrl && pushes && values.pushKeys?.length === 0) {
    problems.push({
      where: variableOf('pushKeys'),
      what: 'not set; give a key such as 2026=(openssl rand -base64 32), the credentials of receivers are encrypted with it',
    });
  }
  if (values.approvalWebhook && !values.approvalSecret) {
    problems.push({
      where: variableOf('approvalSecret'),
      what: 'not set; give a secret such as whsec_(openssl rand -base64 32), the webhook verifies with it',
    });
  }
  problems.push(...accessProblems(values));
  problems.push(...tlsProblems(values));
  const open = !requiresCredentials({
    oidcIssuers,
    apiKeys: apiKeys ?? false,
    tlsClientCa: values.tlsClientCa,
  });
  if (host && !isLoopback(host) && open && insecureOpen === false) {
    problems.push({
      where: variableOf('host'),
      what: `${host} is reachable from outside and no authentication is configured; give 127.0.0.1, or configure ${variableOf('oidcIssuers')} or ${variableOf('apiKeys')}, or set ${variableOf('insecureOpen')}=true if that is what you want`,
    });
  }
  return problems;
}

function tlsProblems({ tlsCert, tlsKey, tlsClientCa }: Partial<SettingValues>): ConfigProblem[] {
  const what = 'not set; give the certificate and its key, both or neither';
  if (tlsCert && !tlsKey) return [{ where: variableOf('tlsKey'), what }];
  if (tlsKey && !tlsCert) return [{ where: variableOf('tlsCert'), what }];
  if (!tlsClientCa || tlsCert) return [];
  return [{ where: variableOf('tlsCert'), what: 'not set; without TLS no client can show a certificate' }];
}

/** A slip in what keeps callers out must not let them in. */
function accessProblems(values: Partial<SettingValues>): ConfigProblem[] {
  const { agents = [], privateAgents = [], agentOrganisations = {}, agentScopes = {} } = values;
  const named = {
    privateAgents,
    agentOrganisations: Object.keys(agentOrganisations),
    agentScopes: Object.keys(agentScopes),
  };
  const isOpen = values.oidcIssuers?.length === 0 && !values.apiKeys && !values.tlsClientCa;
  return Object.entries(named).flatMap(([name, ids]) => {
    const where = variableOf(name);
    // What a folder holds is not known here.
    const unknown = values.agentsDir === undefined ? ids.filter((id) => !agents.includes(id)) : [];
    const problems = unknown.map((id) => ({
      where,
      what: `"${id}" is not served; give some of ${agents.join(', ')}`,
    }));
    if (ids.length === 0 || !isOpen) return problems;
    const what = `no caller can be told from another; configure ${variableOf('oidcIssuers')} or ${variableOf('apiKeys')} too`;
    return [...problems, { where, what }];
  });
}

const isLoopback = (host: string) =>
  host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));

function complete(values: SettingValues, agentsFile?: string): Config {
  const dataDir = resolve(values.dataDir);
  return new Config({
    ...values,
    agents: values.agents ?? [],
    agentsFile: agentsFile && resolve(agentsFile),
    dataDir,
    deploymentsFile: resolve(values.deploymentsFile ?? `${dataDir}/deployments.log`),
  });
}
