import { execFile } from 'node:child_process';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningService, startService } from '../support/service.js';

const run = promisify(execFile);
const root = new URL('../..', import.meta.url).pathname;
const readme = await readFile(`${root}/README.md`, 'utf8');

/** The code blocks of one language, in order. */
const blocks = (language: string) =>
  [...readme.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(
    (match) => match[1]!,
  );
const curl = blocks('sh').filter((block) => block.startsWith('curl'));

let service: RunningService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

describe('the README', () => {
  it('sets up and tests with exactly the two commands that the project has', async () => {
    expect(blocks('sh').map((block) => block.trim())).toEqual(
      expect.arrayContaining(['npm ci && npm start', 'npm ci && npm test']),
    );
    const { scripts } = JSON.parse(await readFile(`${root}/package.json`, 'utf8'));
    expect(Object.keys(scripts)).toEqual(expect.arrayContaining(['start', 'test', 'demo', 'bench', 'check']));
  });

  it.each(curl.map((command) => [command]))('answers as promised to %s', async (command) => {
    const here = command.replaceAll('http://127.0.0.1:8080', service.httpUrl);
    const { stdout } = await run('sh', ['-c', here]);
    expect(stdout).toContain('"TASK_STATE_COMPLETED"');
    expect(stdout).not.toContain('"error"');
  });

  it('has a gRPC example that runs as it stands', async () => {
    const [program] = blocks('js');
    const file = `${root}/readme-example.${process.pid}.mjs`;
    await writeFile(file, program!.replace('127.0.0.1:50051', service.grpcAddress));
    try {
      const { stdout } = await run(process.execPath, [file], { cwd: root });
      expect(stdout.trim()).toBe('hello');
    } finally {
      await rm(file);
    }
  });
});
