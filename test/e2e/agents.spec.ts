import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { agentJsonSchema } from '../../src/agents/index.js';
import { a2aStand } from '../support/backends/a2a.stand.js';
import { mcpStand } from '../support/backends/mcp.stand.js';
import { type ModelStand, modelStand } from '../support/backends/model.stand.js';
import type { Stand } from '../support/backends/stand.js';
import { type RunningService, startService } from '../support/service.js';

const ROOT = new URL('../../', import.meta.url).pathname;
const README = readFileSync(join(ROOT, 'src/agents/README.md'), 'utf8');
const SNIPPETS = [...README.matchAll(/```yaml\n(.*?)```/gs)].map(([, yaml = '']) => yaml);
const [MODULE = ''] = [...README.matchAll(/```js\n(.*?)```/gs)].map(([, js = '']) => js);
const idOf = (yaml: string) => /^id: (.*)$/m.exec(yaml)?.[1] ?? '';

const hasPython = (() => {
  try {
    execFileSync('python3', ['--version']);
    return true;
  } catch {
    return false;
  }
})();

interface Example {
  readonly url: string;
  readonly child: ChildProcess;
}

async function example(program: string, file: string): Promise<Example> {
  const child = spawn(program, [join(ROOT, 'src/agents/examples', file), '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(child.stdout!.setEncoding('utf8'), 'data')) as [string];
  return { url: line.trim(), child };
}

let folder: string;
let service: RunningService;
let model: ModelStand;
const stands: Stand[] = [];
const examples: Example[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'parley-readme-agents-'));
  cpSync(join(ROOT, 'src/agents/examples/shout.mjs'), join(folder, 'shout.mjs'));
  model = await modelStand();
  const [a2a, mcp] = [await a2aStand('JSONRPC'), await mcpStand()];
  stands.push(model, a2a, mcp);
  const node = await example('node', 'agent.mjs');
  const http = hasPython ? await example('python3', 'agent.py') : node;
  examples.push(node, http);
  const real: Record<string, string> = {
    'http://localhost:9000/': http.url,
    'http://localhost:9001/v1': String(model.backend.baseUrl),
    'http://localhost:9002/': String(a2a.backend.url),
    'http://localhost:9003/mcp': String(mcp.backend.url),
  };
  const put = (yaml: string) => {
    const text = Object.entries(real).reduce((all, [from, to]) => all.replace(from, to), yaml);
    writeFileSync(join(folder, `${idOf(yaml)}.yaml`), text);
  };
  for (const yaml of SNIPPETS) put(yaml);
  put(
    `id: mirror\nname: Mirror\ndescription: Turns texts round\nbackend: { kind: http, url: ${node.url} }\n`,
  );
  service = await startService({
    env: { PARLEY_AGENTS_DIR: folder, PARLEY_AGENTS_RELOAD_MS: '50', MODEL_KEY: 'sk-of-the-test' },
  });
});

afterAll(async () => {
  await service?.stop();
  for (const stand of stands) await stand.close();
  for (const { child } of examples) child.kill();
  rmSync(folder, { recursive: true });
});

interface Answer {
  readonly task: { status: { state: string }; artifacts?: { parts: { text?: string }[] }[] };
}

async function ask(agent: string, text: string): Promise<[state: string, text: string]> {
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }] };
  const response = await fetch(`${service.httpUrl}/agents/${agent}/rest/message:send`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
    body: JSON.stringify({ message }),
  });
  const { task } = (await response.json()) as Answer;
  const texts = (task.artifacts ?? []).flatMap(({ parts }) => parts).map((part) => part.text);
  return [task.status.state, texts.join('')];
}

const card = (agent: string) => fetch(`${service.httpUrl}/agents/${agent}/card`);

describe('The agents of the README', () => {
  it('are six, of fewer than ten lines each', () => {
    expect(SNIPPETS).toHaveLength(6);
    for (const yaml of SNIPPETS) expect(yaml.trim().split('\n').length, yaml).toBeLessThan(10);
  });

  it.each([
    ['sorter', 'b\na\n', 'a\nb\n'],
    ['assistant', 'hello', 'hello to you'],
    ['partner', 'hello', 'hello to you'],
    ['say', 'hello', 'hello to you'],
    ['shout', 'hello', 'HELLO'],
    ['mirror', 'hello', 'olleh'],
  ])('%s answers', async (agent, text, answer) => {
    expect(await ask(agent, text)).toEqual(['TASK_STATE_COMPLETED', answer]);
  });

  it.skipIf(!hasPython)('words, in Python (skipped where there is no python3), answers', async () => {
    expect(await ask('words', 'one two')).toEqual(['TASK_STATE_COMPLETED', '1 one\n2 two\n']);
  });

  it.each(['JSONRPC', 'HTTP+JSON', 'GRPC'])(
    'reach an A2A agent over %s, here one of their own',
    async (binding) => {
      const id = `loop-${binding.toLowerCase().replace('+', '-')}`;
      const url = `${service.httpUrl}/agents/sorter/`;
      const yaml = `id: ${id}\nname: Loop\ndescription: Sorts elsewhere\nbackend: { kind: a2a, url: ${url}, binding: ${binding} }\n`;
      writeFileSync(join(folder, `${id}.yaml`), yaml);
      await vi.waitFor(async () => expect((await card(id)).status).toBe(200), { timeout: 20_000 });

      expect(await ask(id, 'b\na\n')).toEqual(['TASK_STATE_COMPLETED', 'a\nb\n']);
    },
  );

  it('have a schema that editors fetch from the service', async () => {
    const schemas = ['agent', 'settings'].map((name) => fetch(`${service.httpUrl}/schemas/${name}.json`));
    const [agent, settings] = await Promise.all(schemas);
    expect([agent?.status, settings?.status]).toEqual([200, 200]);
    expect(await agent?.json()).toEqual(JSON.parse(JSON.stringify(agentJsonSchema())));
    expect(await settings?.json()).toMatchObject({ properties: { httpPort: { type: 'integer' } } });
  });

  it('are modules with what parley/agent has for them, as npm install puts it beside them', async () => {
    mkdirSync(join(folder, 'node_modules'));
    symlinkSync(ROOT, join(folder, 'node_modules/parley'));
    writeFileSync(join(folder, 'louder.mjs'), MODULE);
    const yaml = 'id: louder\nname: L\ndescription: L\nbackend: { kind: module, path: ./louder.mjs }\n';
    writeFileSync(join(folder, 'louder.yaml'), yaml);
    await vi.waitFor(async () => expect((await card('louder')).status).toBe(200), { timeout: 20_000 });

    expect(await ask('louder', 'hello')).toEqual(['TASK_STATE_COMPLETED', 'HELLO']);
    expect(await ask('louder', '')).toEqual(['TASK_STATE_INPUT_REQUIRED', '']);
  });

  it('give their credentials to their back ends and to nobody else', async () => {
    await ask('assistant', 'hello');

    expect(model.chats.at(-1)?.authorization).toBe('Bearer sk-of-the-test');
    expect(await (await card('assistant')).text()).not.toContain('MODEL_KEY');
    expect(service.output()).not.toContain('sk-of-the-test');
  });

  it('are served by and by as files come and change, with new cards', async () => {
    const yaml = (version: string) =>
      `id: late\nname: Late\ndescription: Comes late\nversion: ${version}\nbackend: { kind: command, command: [cat] }\n`;
    expect((await card('late')).status).toBe(404);
    writeFileSync(join(folder, 'late.yaml'), yaml('1.0.0'));
    await vi.waitFor(async () => expect((await card('late')).status).toBe(200), { timeout: 20_000 });
    expect(await ask('late', 'here')).toEqual(['TASK_STATE_COMPLETED', 'here']);

    writeFileSync(join(folder, 'late.yaml'), yaml('2.0.0'));
    const version = async () => ((await (await card('late')).json()) as { version: string }).version;
    await vi.waitFor(async () => expect(await version()).toBe('2.0.0'), { timeout: 20_000 });
  });
});
