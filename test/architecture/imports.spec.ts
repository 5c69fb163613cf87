import { cruise, type ICruiseResult, type IForbiddenRuleType } from 'dependency-cruiser';
import extractTSConfig from 'dependency-cruiser/config-utl/extract-ts-config';
import { beforeAll, describe, expect, it } from 'vitest';

/** Which folder may import which; a folder that is not named here may import none of the others. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  protocol: [],
  config: [],
  telemetry: ['config'],
  database: ['config'],
  auth: ['protocol', 'config', 'telemetry', 'database'],
  tasks: ['protocol', 'config', 'telemetry', 'database'],
  agents: ['protocol', 'config', 'telemetry', 'database'],
  cards: ['protocol', 'config', 'telemetry', 'auth', 'agents'],
  messaging: ['protocol', 'config', 'telemetry', 'database', 'tasks', 'agents'],
  push: ['protocol', 'config', 'telemetry', 'database', 'tasks'],
  a2a: ['protocol', 'config', 'telemetry', 'auth', 'tasks', 'agents', 'cards', 'messaging', 'push', 'health'],
  operator: ['protocol', 'config', 'telemetry', 'auth', 'tasks', 'agents', 'messaging', 'push'],
  health: ['config', 'database', 'tasks'],
};

/** As Node resolves an ESM import. */
const RESOLUTION = { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] };

/** What Node is started with, and what the package exports. */
const ENTRIES = '^src/(main|cli|config/readme|(agents/kit|push/receiver)/index)\\.ts$';
const BINDINGS = '^src/a2a/(jsonrpc|rest|grpc|v03)/';

const forbidden: IForbiddenRuleType[] = [
  ...Object.entries(MAY_IMPORT).map(([folder, allowed]) => ({
    name: `${folder} imports only ${allowed.join(', ') || 'nothing'}`,
    from: { path: `^src/${folder}/` },
    to: { path: '^src/', pathNot: `^src/(${[folder, ...allowed].join('|')})/` },
  })),
  {
    name: 'folders know each other by index.ts alone',
    from: { path: '^src/([^/]+)/', pathNot: '\\.spec\\.ts$' },
    to: { path: '^src/[^/]+/', pathNot: '^src/($1/|[^/]+/index\\.ts$)' },
  },
  {
    name: 'a binding knows the insides of no other binding',
    from: { path: BINDINGS },
    to: { path: BINDINGS, pathNot: '^src/a2a/($1/|[^/]+/index\\.ts$)' },
  },
  {
    name: 'a binding only translates: no store, no agent, no settings',
    from: { path: BINDINGS },
    to: { path: '^src/(tasks|messaging|agents|cards|push|config|database)/' },
  },
  {
    name: 'Postgres is met in database, entities, postgres adapters and modules',
    from: {
      path: '^src/',
      pathNot: '^src/database/|\\.entity\\.ts$|/postgres-[^/]+$|\\.module\\.ts$',
    },
    to: { path: 'node_modules/(typeorm|pg|@nestjs/typeorm)/' },
  },
  {
    name: 'the contract needs nothing but protobuf',
    from: { path: '^src/protocol/', pathNot: '\\.spec\\.ts$' },
    to: { path: 'node_modules/', pathNot: 'node_modules/@bufbuild/protobuf/' },
  },
  {
    name: 'the state function needs no framework',
    from: { path: '^src/tasks/task\\.(state|fold)\\.ts$' },
    to: { path: 'node_modules/', pathNot: 'node_modules/@bufbuild/protobuf/' },
  },
  {
    name: 'no cycles',
    from: {},
    to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
  },
  {
    name: 'nothing lies about unused',
    from: { path: ENTRIES },
    to: { path: '^src/', pathNot: ['\\.spec\\.ts$', ENTRIES], reachable: false },
  },
];

describe('imports', () => {
  let result: ICruiseResult;

  beforeAll(async () => {
    const options = {
      ruleSet: { forbidden },
      validate: true,
      tsPreCompilationDeps: true,
      doNotFollow: { path: 'node_modules' },
      exclude: { path: '^src/agents/(samples/suite|examples)/' },
    };
    const tsConfig = extractTSConfig('tsconfig.json');
    const { output } = await cruise(['src'], options, RESOLUTION, { tsConfig });
    if (typeof output === 'string') throw new Error(output);
    result = output;
  });

  it('are all seen', () => {
    const own = result.modules.filter(({ source }) => source.startsWith('src/'));
    expect(own.length).toBeGreaterThan(60);
    expect(
      own.flatMap(({ dependencies }) => dependencies).filter(({ couldNotResolve }) => couldNotResolve),
    ).toEqual([]);
  });

  it('keep to the rules', () => {
    const violations = result.summary.violations.map(
      ({ rule, from, to }) => `${rule.name}: ${from} -> ${to}`,
    );
    expect(violations).toEqual([]);
  });
});
