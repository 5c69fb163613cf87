import type { z } from 'zod';
import { age, ages } from './ages.js';
import { APPROVAL_SETTINGS } from './approval.settings.js';
import { PUSH_SETTINGS } from './push.settings.js';
import { SCOPES, type Scope } from './scopes.js';
import { type Setting, setting } from './setting.js';
import {
  agentId,
  agentIds,
  cidr,
  flag,
  hostAndPort,
  list,
  lists,
  milliseconds,
  oneOf,
  port,
  renames,
  text,
  url,
  wholeNumber,
} from './setting.kinds.js';

export const BUILT_IN_AGENTS = ['echo', 'test-runner', 'code-reviewer', 'deployer', 'conformance'];
const POSTGRES_URL = 'postgres://user:password@host:5432/database';
const MIB = 1024 * 1024;
const SIGNATURES = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512'] as const;

export const SETTINGS = {
  host: setting(
    text('give an address such as 127.0.0.1').default('127.0.0.1'),
    'address',
    'Address that HTTP and gRPC listen on',
  ),
  httpPort: setting(
    port().default(8080),
    'port',
    'HTTP port: JSON-RPC, HTTP+JSON, cards, health; 0 takes any free one',
  ),
  grpcPort: setting(port().default(50051), 'port', 'gRPC port; 0 takes any free one'),
  publicUrl: setting(
    url(['http:', 'https:'], 'https://agents.example.com')
      .transform((value) => value.replace(/\/+$/, ''))
      .optional(),
    'URL',
    'Base URL that clients reach the service at, as cards declare it',
    { otherwise: 'the listening address' },
  ),
  publicGrpc: setting(hostAndPort().optional(), 'host:port', 'Address of gRPC as cards declare it', {
    otherwise: 'the listening address',
  }),
  dataDir: setting(
    text('give a folder').default('./.parley'),
    'folder',
    'Where the embedded Postgres and local files lie',
  ),
  databaseUrl: setting(url(['postgres:', 'postgresql:'], POSTGRES_URL).optional(), 'URL', 'Postgres to use', {
    otherwise: 'an embedded Postgres in the data folder',
    secret: true,
  }),
  databasePool: setting(wholeNumber(1, 1000).default(10), 'number', 'Connections to Postgres of one replica'),
  eventsUrl: setting(
    url(['nats:', 'tls:'], 'nats://nats.example.com:4222').optional(),
    'URL',
    'NATS server through which replicas wake each other',
    { otherwise: 'LISTEN and NOTIFY of Postgres', secret: true },
  ),
  agents: setting(
    agentIds(),
    'list',
    'Agents to serve: ids of built-in ones, in the YAML file also descriptions of others',
    { otherwise: `${BUILT_IN_AGENTS.join(', ')}; with a folder of agents none` },
  ),
  agentsDir: setting(
    text('give a folder').optional(),
    'folder',
    'Folder of YAML files that describe one agent each, served too',
    { otherwise: 'none' },
  ),
  agentsReloadMs: setting(
    milliseconds(0).default(2_000),
    'ms',
    'Pause between looks for changed descriptions of agents; 0 never looks',
  ),
  defaultAgent: setting(
    agentId().optional(),
    'agent id',
    'Agent at the root addresses and behind an empty tenant',
    { otherwise: 'echo, else the first agent' },
  ),
  maxBodyBytes: setting(
    wholeNumber(1024, 1024 * MIB).default(10 * MIB),
    'bytes',
    'Largest request on every binding',
  ),
  maxJsonDepth: setting(
    wholeNumber(8, 1000).default(100),
    'levels',
    'Deepest nesting of a JSON request; inside data and metadata it is 30',
  ),
  maxJsonValues: setting(
    wholeNumber(100, 10_000_000).default(50_000),
    'values',
    'Most JSON values of a request, members and items all counted: a thousand hold up all other calls for some ms',
  ),
  maxGrpcStreams: setting(
    wholeNumber(1, 1_000_000).default(2_000),
    'number',
    'Calls and streams of one gRPC connection at a time, of all callers behind a proxy; more wait',
  ),
  sseHeartbeatMs: setting(
    milliseconds().default(15_000),
    'ms',
    'Pause after which an idle stream gets a comment',
  ),
  v03StreamMs: setting(
    milliseconds(0).default(600_000),
    'ms',
    'Longest stream of A2A 0.3, which its client then takes up again; 0 is no limit',
  ),
  leaseMs: setting(
    milliseconds(100).default(8_000),
    'ms',
    'A turn without a sign of its replica for this long is taken over by another one, at most a second later',
  ),
  operatorToken: setting(text().optional(), 'text', "Bearer token of the operators' API", {
    otherwise: "the operators' API is closed",
    secret: true,
  }),
  deploymentsFile: setting(
    text('give a file').optional(),
    'file',
    'Where the agent "deployer" writes its deployments',
    {
      otherwise: 'deployments.log in the data folder',
    },
  ),
  logLevel: setting(
    oneOf(['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace']).default('info'),
    'level',
    'Least important level that is logged',
  ),
  logFormat: setting(
    oneOf(['pretty', 'json']).default('pretty'),
    'pretty or json',
    'Log for people, or one JSON object per line',
  ),
  logCallers: setting(
    oneOf(['plain', 'hashed']).default('plain'),
    'plain or hashed',
    'How the log names callers; hashed, the same caller has the same 16 hex digits',
  ),
  tracing: setting(
    oneOf(['auto', 'on', 'off']).default('auto'),
    'auto, on, off',
    'Traces by OTLP as the standard `OTEL_*` variables say; `auto`: where `OTEL_EXPORTER_OTLP_ENDPOINT` is set',
  ),
  tracingStock: setting(
    flag().default(false),
    'true or false',
    'Also the stock instrumentations of http, grpc and pg: more spans, for about a quarter of the throughput',
  ),
  metricsPort: setting(port().optional(), 'port', 'Port of `/metrics` for Prometheus; 0 takes any free one', {
    otherwise: 'none; metrics go by OTLP where `OTEL_EXPORTER_OTLP_ENDPOINT` is set',
  }),
  grpcReflection: setting(
    flag().default(true),
    'true or false',
    'gRPC clients may ask for the services and their types',
  ),
  trustedProxies: setting(
    list(cidr(), 'give addresses or CIDR blocks, separated by commas').default([]),
    'list',
    'Addresses or CIDR blocks of proxies whose X-Forwarded-* headers are believed',
  ),
  drainMs: setting(
    milliseconds(0).default(30_000),
    'ms',
    'Time for running work to end when the service is told to stop',
  ),
  insecureOpen: setting(
    flag().default(false),
    'true or false',
    'Serve an address that is not loopback without authentication',
  ),
  oidcIssuers: setting(
    list(
      url(['https:', 'http:'], 'https://login.example.com'),
      'give issuer URLs, separated by commas',
    ).default([]),
    'list',
    'OpenID Connect or OAuth 2 issuers whose access tokens are accepted, exactly as they name themselves',
  ),
  oidcAudience: setting(
    list(text(), 'give audiences, separated by commas').default([]),
    'list',
    'Audiences (`aud`) that a token must be meant for, one of them',
  ),
  oidcAlgorithms: setting(
    list(oneOf(SIGNATURES), `give some of ${SIGNATURES.join(', ')}, separated by commas`).default([
      'RS256',
      'ES256',
    ]),
    'list',
    'Signature algorithms of tokens that are accepted',
  ),
  oidcSubjectClaim: setting(
    text().default('sub'),
    'claim',
    'Claim that names the caller; `a.b` looks inside',
  ),
  oidcOrganisationClaim: setting(
    text().optional(),
    'claim',
    "Claim that names the caller's organisation; every issuer is then trusted to name any",
    { otherwise: 'the issuer is the organisation' },
  ),
  oidcScopeClaims: setting(
    list(text(), 'give claims, separated by commas').default(['scope', 'scp']),
    'list',
    'Claims that hold scopes, as a list or as text with spaces',
  ),
  scopeNames: setting(
    renames(SCOPES).default(
      () => Object.fromEntries(SCOPES.map((scope) => [scope, scope])) as Record<Scope, string>,
    ),
    'pairs',
    'What tokens call the scopes, such as `a2a.send=agents.write`',
    { otherwise: 'the same names' },
  ),
  organisationReadScope: setting(
    text().optional(),
    'scope',
    'Scope whose holders read the tasks of all callers of their organisation, beside `a2a.read`; they change none',
    { otherwise: 'callers read their own tasks alone' },
  ),
  cardSigningKeys: setting(
    list(text(), 'give files, separated by commas').default([]),
    'list',
    'PEM or JWK files of keys (P-256 or RSA) for cards: each private one signs, all are published',
  ),
  cardSigningKey: setting(text().optional(), 'PEM or JWK', 'One more such key, before those in files', {
    otherwise: 'cards are not signed without any key',
    secret: true,
  }),
  apiKeys: setting(flag().default(false), 'true or false', 'Accept API keys'),
  tlsCert: setting(
    text('give a file').optional(),
    'file',
    'PEM file with the certificate of both listeners and the chain to its root; read again when it changes',
    { otherwise: 'no TLS' },
  ),
  tlsKey: setting(text('give a file').optional(), 'file', 'PEM file with the key of the certificate', {
    otherwise: 'no TLS',
  }),
  tlsClientCa: setting(
    text('give a file').optional(),
    'file',
    "PEM file with the authorities whose clients' certificates are accepted as credentials",
    { otherwise: 'client certificates are not asked for' },
  ),
  tlsClientSubject: setting(
    oneOf(['CN', 'URI', 'DNS', 'email']).default('CN'),
    'CN, URI, DNS or email',
    'What of a client certificate names the caller: the common name or an alternative name',
  ),
  tlsClientScopes: setting(
    list(text(), 'give scopes, separated by commas').default([
      ...SCOPES.filter((scope) => scope.startsWith('a2a.')),
    ]),
    'list',
    'Scopes that a client certificate gives',
  ),
  privateAgents: setting(
    list(agentId(), 'give agent ids, separated by commas').default([]),
    'list',
    'Agents whose cards only callers with a credential see',
  ),
  agentOrganisations: setting(
    lists(agentId(), 'give pairs such as deployer=acme, several organisations with spaces between').default(
      {},
    ),
    'pairs',
    'Organisations that an agent is there for, such as `deployer=acme umbrella`; nobody else finds it',
    { otherwise: 'all' },
  ),
  agentScopes: setting(
    lists(
      agentId(),
      'give pairs such as deployer=deploy.staging, several scopes with spaces between',
    ).default({}),
    'pairs',
    'Scopes that calling an agent needs beside the usual ones, such as `deployer=deploy.staging`',
    { otherwise: 'none' },
  ),
  limitRequests: setting(
    wholeNumber(0, 1_000_000).default(0),
    'per second',
    'Calls of one caller to one agent, on each replica; a burst of twice as many may come at once; 0 is no limit',
  ),
  limitTasks: setting(
    wholeNumber(0, 1_000_000).default(0),
    'number',
    'Tasks of one caller that one agent works on at a time, over all replicas; 0 is no limit',
  ),
  limitStreams: setting(
    wholeNumber(0, 1_000_000).default(0),
    'number',
    'Open streams of one caller from one agent, on each replica; 0 is no limit',
  ),
  limitFailedLogins: setting(
    wholeNumber(0, 1_000_000).default(300),
    'per minute',
    'Wrong credentials from one address, on each replica, before it has to wait; 0 is no limit',
  ),
  ...PUSH_SETTINGS,
  ...APPROVAL_SETTINGS,
  keepEnded: setting(
    ages('90d'),
    'ages',
    'How long ended tasks are kept, such as `90d,echo=12h,@acme=365d,echo@acme=ever`: for all, an agent, an organisation, both',
    { otherwise: '90d' },
  ),
  keepWaiting: setting(
    ages('30d'),
    'ages',
    'How long tasks wait for their caller or an approval before they fail',
    { otherwise: '30d' },
  ),
  keepEvents: setting(
    ages('7d'),
    'ages',
    'How long ended tasks keep the single chunks of their artifacts beside the whole ones',
    { otherwise: '7d' },
  ),
  keepPush: setting(age('7d'), 'age', 'How long push configs are kept after their last push', {
    otherwise: '7d',
  }),
  keepAudit: setting(age('400d'), 'age', 'How long the audit log is kept', { otherwise: '400d' }),
  retentionMs: setting(
    milliseconds(0).default(60_000),
    'ms',
    'Pause between looks for what has become too old; 0 keeps everything',
  ),
} as const satisfies Record<string, Setting>;

export type SettingName = keyof typeof SETTINGS;
export type SettingValues = { [K in SettingName]: z.output<(typeof SETTINGS)[K]['schema']> };

/** All settings in the order of the table. */
export const SETTING_LIST = Object.entries(SETTINGS) as [SettingName, Setting][];

/** `httpPort` is `PARLEY_HTTP_PORT` in the environment ... */
export const variableOf = (name: string) => `PARLEY_${name.replace(/[A-Z]/g, '_$&').toUpperCase()}`;
/** ... and `--http-port` on the command line. */
export const flagOf = (name: string) => `--${name.replace(/[A-Z]/g, '-$&').toLowerCase()}`;

/** The default as a person reads it: a value, or words in brackets. */
export function defaultOf(setting: Setting): string {
  if (setting.otherwise) return `(${setting.otherwise})`;
  const value: unknown = setting.schema.parse(undefined);
  return Array.isArray(value) ? value.join(',') || '(none)' : String(value);
}
