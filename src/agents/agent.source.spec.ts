import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../config/index.js';
import { agentsInFile } from './agent.source.js';
import { BackEnds } from './backends/back.ends.js';
import { PostgresCallbacks } from './backends/postgres-callbacks.js';
import { LiveAgents } from './live.agents.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'parley-agents-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

const problems = (name: string, content: string) =>
  agentsInFile(file(name, content)).problems.map(
    ({ where, what }) => `${where.replace(`${folder}/`, '')}: ${what}`,
  );

const agent = (id: string, more = '') =>
  `id: ${id}\nname: ${id}\ndescription: An agent\nbackend: { kind: command, command: [cat] }\n${more}`;

describe('Agents in a YAML file', () => {
  it('need an id, a name, a description and a backend', () => {
    const { sources, problems } = agentsInFile(
      file('good.yaml', `agents:\n  - ${agent('cat').replaceAll('\n', '\n    ')}`),
    );

    expect(problems).toEqual([]);
    expect(sources).toMatchObject([
      { agent: { id: 'cat', version: '1.0.0', inputModes: ['text/plain'] }, folder },
    ]);
  });

  it('are told each problem with file, line and what to give', () => {
    const text = `
agents:
  - echo
  - id: Bad Id
    name: Bad
    backend:
      kind: http
      url: localhost:9000
      header: {}
  - id: worse
    name: Worse
    description: No such kind
    limits: { concurrency: 0 }
    skills: []
    access: { organisations: [] }
    rollout: { callers: { scopes: [] } }
    backend: { kind: https }
`;
    expect(problems('bad.yaml', text)).toEqual([
      'bad.yaml:4 id: give an id: a-z, 0-9 and "-", at most 63 characters',
      'bad.yaml:4 description: missing; give a sentence that says what the agent does',
      'bad.yaml:8 backend.url: give a URL such as http://localhost:9000/',
      'bad.yaml:9 backend.header: there is no such setting of an agent; npx parley schema shows them all',
      'bad.yaml:16 rollout.callers.scopes: give a list of scopes',
      'bad.yaml:14 skills: give at least one skill, or leave it out',
      'bad.yaml:15 access.organisations: give a list of organisations',
      'bad.yaml:13 limits.concurrency: give a whole number from 1 to 100000',
      'bad.yaml:17 backend.kind: give a backend with a kind: module, http, command, openai, a2a or mcp',
    ]);
  });

  it('hold no credentials, only references that lead somewhere, and show neither', () => {
    const text = `
agents:
  - id: one
    name: One
    description: Holds a key
    backend: { kind: openai, model: m, apiKey: sk-very-secret }
  - id: two
    name: Two
    description: Holds a token
    backend:
      kind: http
      url: http://localhost/
      headers: { Authorization: Bearer very-secret, accept-language: de }
  - id: three
    name: Three
    description: Refers to nothing
    backend:
      kind: http
      url: http://localhost/
      headers: { Authorization: 'Bearer \${env:NO_SUCH_VARIABLE}' }
`;
    const found = problems('secrets.yaml', text);
    expect(found).toEqual([
      expect.stringMatching(/^secrets\.yaml:6 backend\.apiKey: give a reference such as \$\{env:NAME\}/),
      expect.stringMatching(/^secrets\.yaml:13 backend\.headers\.Authorization: looks like a credential/),
      'secrets.yaml:20 backend.headers.Authorization: set the variable NO_SUCH_VARIABLE',
    ]);
    expect(found.join()).not.toContain('very-secret');
  });

  it('that are no YAML are told where they stop to be', () => {
    expect(problems('broken.yaml', 'agents:\n  - id: [\n')[0]).toMatch(/^broken\.yaml:\d+: /);
  });
});

describe('Agents in a folder', () => {
  let agents: LiveAgents;
  const load = async (PARLEY_AGENTS_DIR: string) => {
    const config = loadConfig({ PARLEY_AGENTS_DIR, PARLEY_AGENTS_RELOAD_MS: '1' });
    agents = await LiveAgents.load(config, new BackEnds(new PostgresCallbacks(undefined)));
    return agents;
  };
  afterEach(() => agents?.onModuleDestroy());

  it('are read anew when a file changes; those that did not change stay the same', async () => {
    const dir = mkdtempSync(join(folder, 'live-'));
    writeFileSync(join(dir, 'a.yaml'), agent('a'));
    writeFileSync(join(dir, 'b.yaml'), agent('b'));
    const before = (await load(dir)).get('a');
    const changed = new Promise<void>((resolve) => agents.onChange(resolve));
    agents.onApplicationBootstrap();

    writeFileSync(join(dir, 'b.yaml'), agent('b', 'version: 2.0.0\n'));
    writeFileSync(join(dir, 'c.yaml'), agent('c'));
    await changed;

    expect(agents.list().map(({ id }) => id)).toContain('b');
    expect(agents.get('b')?.version).toBe('2.0.0');
    expect(agents.get('a')).toBe(before);
    expect(agents.default.id).toBe('a');
  });

  it('stay as they were when the change is wrong', async () => {
    const dir = mkdtempSync(join(folder, 'wrong-'));
    writeFileSync(join(dir, 'a.yaml'), agent('a'));
    await load(dir);
    const before = agents.get('a');

    writeFileSync(join(dir, 'a.yaml'), 'id: a\n');
    await expect(agents.reload()).rejects.toThrow(/a\.yaml:1 name: missing; give a name/);
    expect(agents.get('a')).toBe(before);
  });

  it('are tried again without a change where one of them could not be made', async () => {
    const dir = mkdtempSync(join(folder, 'later-'));
    writeFileSync(join(dir, 'a.yaml'), agent('a'));
    await load(dir);
    const flag = JSON.stringify(join(dir, 'flag'));
    const maker = `() => { if (!existsSync(${flag})) throw new Error('not yet'); return { execute() {} }; }`;
    writeFileSync(join(dir, 'b.mjs'), `import { existsSync } from 'node:fs';\nexport default ${maker};\n`);
    writeFileSync(
      join(dir, 'b.yaml'),
      agent('b').replace(/backend: .*/, 'backend: { kind: module, path: ./b.mjs }'),
    );
    await expect(agents.reload()).rejects.toThrow(/b\.yaml:1 backend: not yet/);
    await expect(agents.reload()).rejects.toThrow(/not yet/);

    writeFileSync(join(dir, 'flag'), '');
    expect(await agents.reload()).toBe(true);
    expect(agents.get('b')).toBeDefined();
    expect(await agents.reload()).toBe(false);
  });

  it('name a module that is there', async () => {
    const dir = mkdtempSync(join(folder, 'module-'));
    const module = agent('a').replace(/backend: .*/, 'backend: { kind: module, path: ./gone.mjs }');
    writeFileSync(join(dir, 'a.yaml'), module);
    await expect(load(dir)).rejects.toThrow(`a.yaml:1 backend: there is no module ./gone.mjs in ${dir}`);
    writeFileSync(join(dir, 'a.yaml'), module.replace('gone.mjs', 'a.yaml/gone.mjs'));
    // From Node 22 on it counts as a missing file too.
    await expect(load(dir)).rejects.toThrow(/a\.yaml:1 backend: (ENOTDIR|there is no module)/);
  });

  it('cannot share an id and a version', async () => {
    const dir = mkdtempSync(join(folder, 'twice-'));
    writeFileSync(join(dir, 'a.yaml'), agent('a'));
    await load(dir);
    writeFileSync(join(dir, 'b.yaml'), agent('a'));
    await expect(agents.reload()).rejects.toThrow(/another agent has the id "a" and the version 1.0.0 too/);
  });

  it.each([
    ['that says so', ['', 'rollout: current\n', ''], '2.0.0'],
    ['that alone says nothing', ['rollout: draining\n', 'rollout: { weight: 5 }\n', ''], '3.0.0'],
    ['that is left', ['rollout: draining\n', 'rollout: draining\n', 'rollout: { weight: 5 }\n'], '3.0.0'],
  ])('may be versions of one agent; the current one is the one %s', async (_, rollouts, current) => {
    const dir = mkdtempSync(join(folder, 'versions-'));
    for (const [n, rollout] of rollouts.entries())
      writeFileSync(join(dir, `${n}.yaml`), agent('a', `version: ${n + 1}.0.0\n${rollout}`));
    await load(dir);

    expect(agents.list().map(({ version }) => version)).toEqual([current]);
    expect(agents.versions('a').map(({ version }) => version)[0]).toBe(current);
    expect(agents.versions('a')).toHaveLength(3);
    expect(agents.get('a', '1.0.0')?.version).toBe('1.0.0');
    expect(agents.get('a', '4.0.0')).toBeUndefined();
  });

  it.each([
    [['', ''], /"a" has several versions that could be the current one; give rollout: current/],
    [['rollout: current\n', 'rollout: current\n'], /could be the current one/],
    [['', 'rollout: { weight: 101 }\n'], /give current, draining, or weight and callers|from 0 to 100/],
    [
      ['', 'rollout: { weight: 60 }\n', 'rollout: { weight: 60 }\n'],
      /the weights of its versions are more than 100/,
    ],
    [['', 'rollout: { callers: {} }\n'], /give organisations, subjects or scopes|give current, draining/],
  ])('are refused where their rollouts make no sense: %j', async (rollouts, problem) => {
    const dir = mkdtempSync(join(folder, 'rollouts-'));
    for (const [n, rollout] of rollouts.entries())
      writeFileSync(join(dir, `${n}.yaml`), agent('a', `version: ${n + 1}.0.0\n${rollout}`));
    await expect(load(dir)).rejects.toThrow(problem);
  });

  it('may pass headers on only where there is a key to store them with', async () => {
    const dir = mkdtempSync(join(folder, 'headers-'));
    const forward = 'backend: { kind: http, url: http://localhost:9000/, forwardHeaders: [x-tenant] }\n';
    writeFileSync(join(dir, 'a.yaml'), `id: a\nname: A\ndescription: Is there\n${forward}`);
    const load = (more: object) =>
      LiveAgents.load(
        loadConfig({ PARLEY_AGENTS_DIR: dir, PARLEY_DATABASE_URL: 'postgres://x/y', ...more }),
        new BackEnds(new PostgresCallbacks(undefined)),
      );
    await expect(load({})).rejects.toThrow(/a\.yaml:1 backend\.forwardHeaders: set PARLEY_PUSH_KEYS/);
    const key = `a=${Buffer.alloc(32, 1).toString('base64')}`;
    const { settings } = (await load({ PARLEY_PUSH_KEYS: key })).default;
    expect(settings.forwardHeaders).toEqual(['x-tenant']);
  });

  it.each(['connection', 'content-length', 'traceparent', 'parley-caller', 'X-Tenant', 'a2a-version'])(
    'never pass on %s',
    async (name) => {
      const dir = mkdtempSync(join(folder, 'never-'));
      const forward = `backend: { kind: http, url: http://localhost:9000/, forwardHeaders: [${name}] }\n`;
      writeFileSync(join(dir, 'a.yaml'), `id: a\nname: A\ndescription: Is there\n${forward}`);
      await expect(load(dir)).rejects.toThrow(/forwardHeaders\.0/);
    },
  );
});
