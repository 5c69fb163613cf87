import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig, unknownVariables } from './config.loader.js';
import { ConfigError } from './config.problem.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'parley-config-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

function problems(...args: Parameters<typeof loadConfig>): string[] {
  try {
    loadConfig(...args);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map(({ where, what }) => `${where}: ${what}`);
    throw error;
  }
  throw new Error('There was no problem');
}

describe('loadConfig', () => {
  it('starts from nothing with defaults that hold on loopback', () => {
    expect(loadConfig({})).toMatchObject({
      host: '127.0.0.1',
      httpPort: 8080,
      grpcPort: 50051,
      defaultAgent: undefined,
      agents: ['echo', 'test-runner', 'code-reviewer', 'deployer', 'conformance'],
      dataDir: join(process.cwd(), '.parley'),
      deploymentsFile: join(process.cwd(), '.parley/deployments.log'),
      maxBodyBytes: 10_485_760,
      insecureOpen: false,
      trustedProxies: [],
    });
  });

  it('takes a flag before the environment, and that before the file', () => {
    const PARLEY_CONFIG = file('order.yaml', 'httpPort: 1\ngrpcPort: 2\nleaseMs: 3000\n');
    const env = { PARLEY_CONFIG, PARLEY_HTTP_PORT: '10', PARLEY_GRPC_PORT: '20' };
    const config = loadConfig(env, ['--http-port', '100']);
    expect(config).toMatchObject({ httpPort: 100, grpcPort: 20, leaseMs: 3000 });
  });

  it('takes lists as YAML lists and as texts, and an empty variable as not set', () => {
    const PARLEY_CONFIG = file('lists.yaml', 'agents: [echo, deployer]\ntrustedProxies: 10.0.0.0/8, ::1\n');
    const config = loadConfig({ PARLEY_CONFIG, PARLEY_DEFAULT_AGENT: '' });
    expect(config.agents).toEqual(['echo', 'deployer']);
    expect(config.trustedProxies).toEqual(['10.0.0.0/8', '::1']);
    expect(config.defaultAgent).toBeUndefined();
  });

  it('cannot be changed afterwards', () => {
    expect(() => Object.assign(loadConfig({}), { host: '0.0.0.0' })).toThrow(TypeError);
  });

  it('says every problem at once, where it is and what to give instead', () => {
    const path = file('wrong.yaml', '# a comment\nhttpPort: many\nhttpPrt: 8080\n\ninsecureOpen: maybe\n');
    const env = { PARLEY_LOG_LEVEL: 'loud', PARLEY_MAX_JSON_DEPTH: '1.5', PARLEY_PUBLIC_GRPC: 'https://x' };
    expect(problems(env, ['--config', path, '--lease-ms', '0'])).toEqual([
      `${path}:2 httpPort: "many" is not valid; give a whole number from 0 to 65535`,
      'PARLEY_PUBLIC_GRPC: "https://x" is not valid; give host:port such as agents.example.com:443',
      'PARLEY_MAX_JSON_DEPTH: "1.5" is not valid; give a whole number from 8 to 1000',
      '--lease-ms: "0" is not valid; give a whole number from 100 to 2147483647',
      'PARLEY_LOG_LEVEL: "loud" is not valid; give one of silent, fatal, error, warn, info, debug, trace',
      `${path}:5 insecureOpen: "maybe" is not valid; give true or false`,
      `${path}:3 httpPrt: there is no such setting; --help lists them all`,
    ]);
  });

  it('names beside a problem the slip of the pen that may be its reason', () => {
    expect(problems({ PARLEY_HOST: '0.0.0.0', PARLEY_API_KEY: 'true' })).toEqual([
      expect.stringMatching(/^PARLEY_HOST: .* no authentication is configured/),
      'PARLEY_API_KEY: there is no such setting',
    ]);
  });

  it('says the line of YAML that cannot be read', () => {
    const path = file('broken.yaml', 'httpPort: 8080\nagents: [echo\nhost: x\n');
    expect(problems({ PARLEY_CONFIG: path })[0]).toMatch(/broken\.yaml:3: /);
  });

  it('says when the file is not there', () => {
    expect(problems({ PARLEY_CONFIG: '/nowhere.yaml' })).toEqual([
      '/nowhere.yaml: the file cannot be read (ENOENT); give the path of a YAML file',
    ]);
  });

  it('never repeats a secret', () => {
    expect(problems({ PARLEY_DATABASE_URL: 'mysql://root:hunter2@db' }).join()).not.toContain('hunter2');
  });

  it('refuses an address open to others without authentication, unless that is wanted', () => {
    expect(problems({ PARLEY_HOST: '0.0.0.0' })[0]).toContain('PARLEY_INSECURE_OPEN=true');
    expect(loadConfig({ PARLEY_HOST: '0.0.0.0', PARLEY_INSECURE_OPEN: 'true' }).host).toBe('0.0.0.0');
    for (const PARLEY_HOST of ['127.0.0.2', '::1', 'localhost'])
      expect(loadConfig({ PARLEY_HOST })).toBeDefined();
  });

  it('refuses a default agent that is not served, and one port for both listeners', () => {
    const env = {
      PARLEY_AGENTS: 'deployer',
      PARLEY_DEFAULT_AGENT: 'echo',
      PARLEY_HTTP_PORT: '9000',
      PARLEY_GRPC_PORT: '9000',
    };
    expect(problems(env)).toEqual([
      'PARLEY_DEFAULT_AGENT: "echo" is not served; give one of deployer, or add it to PARLEY_AGENTS',
      'PARLEY_GRPC_PORT: 9000 is the HTTP port too; give another one',
    ]);
  });
});

describe('agents in the YAML file', () => {
  const described = 'agents:\n  - echo\n  - id: mine\n    name: Mine\n';

  it('may be described where an id stands, and are then read from the file', () => {
    const PARLEY_CONFIG = file('described.yaml', described);
    expect(loadConfig({ PARLEY_CONFIG })).toMatchObject({
      agents: ['echo', 'mine'],
      agentsFile: PARLEY_CONFIG,
    });
  });

  it('do not count where the environment names the agents', () => {
    const config = loadConfig({ PARLEY_CONFIG: file('beaten.yaml', described), PARLEY_AGENTS: 'deployer' });
    expect(config.agents).toEqual(['deployer']);
    expect(config.agentsFile).toBeUndefined();
  });

  it('take the place of the built-in ones, as a folder does', () => {
    expect(loadConfig({ PARLEY_AGENTS_DIR: folder }).agents).toEqual([]);
  });
});

describe('unknownVariables', () => {
  it('names slips of the pen, but not what Kubernetes or the tests set', () => {
    const env = {
      PATH: '/bin',
      PARLEY_HTTP_PORT: '1',
      PARLEY_CONFIG: 'x',
      PARLEY_HTPP_PORT: '1',
      PARLEY_TEST_DATABASE_URL: 'x',
      PARLEY_SERVICE_HOST: 'x',
      PARLEY_PORT_8080_TCP_ADDR: 'x',
    };
    expect(unknownVariables(env)).toEqual(['PARLEY_HTPP_PORT']);
  });
});
