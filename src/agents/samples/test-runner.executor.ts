import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { excerpt } from '../../protocol/index.js';
import { AGENT_SETTINGS, type AgentDefinition } from '../agent.definition.js';
import { artifact, completed, dataPart, failed, textOf, textPart, working } from '../agent.events.js';
import { type AgentEvent, AgentExecutor, type TurnContext } from '../agent.executor.js';

/** The sample package, where it stands in the repository: `src` and `dist` are equally far from it. */
const PACKAGE = fileURLToPath(new URL('../../../src/agents/samples/suite/', import.meta.url));

type TestProcess = ChildProcessByStdio<null, Readable, null>;

/** `run cart price`, `run all`, `run "the same article"`: suites by folder, or the tests of that name. */
export class TestRunnerExecutor extends AgentExecutor {
  async *execute(turn: TurnContext): AsyncIterable<AgentEvent> {
    const text = textOf(turn.message.parts);
    const name = /"([^"]+)"/.exec(text)?.[1];
    const suites = await suitesOf(PACKAGE);
    const chosen = wordsOf(text);
    const unknown = chosen.filter((word) => !suites.includes(word));
    if (unknown.length > 0) {
      yield failed(`There is no suite ${excerpt(unknown.join(', '))}. There are: ${suites.join(', ')}`);
      return;
    }
    const files = await testFiles(chosen.length > 0 ? chosen : suites, name);
    if (files.length === 0) {
      yield failed(`There is no test named "${excerpt(name ?? '')}"`);
      return;
    }
    yield working(`Running ${files.length === 1 ? files[0] : `${files.length} test files`}`);
    yield* run(turn, files, name);
  }
}

async function* run(turn: TurnContext, files: string[], name?: string): AsyncIterable<AgentEvent> {
  const pattern = name ? [`--test-name-pattern=${name.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}`] : [];
  const args = ['--test', '--test-reporter=spec', ...pattern, ...files];
  // A process group of its own, so that the processes of the test files die with it; and an empty environment,
  // since what the service knows (tokens, database) is none of a test's business.
  const tests = spawn(process.execPath, args, {
    cwd: PACKAGE,
    env: {},
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const kill = () => killGroup(tests);
  turn.signal.addEventListener('abort', kill, { once: true });
  const ended = once(tests, 'close');
  ended.catch(() => {}); // Awaited below, unless reading the log fails first.
  try {
    if (turn.signal.aborted) return;
    let log = '';
    yield logChunk(`$ node ${args.join(' ')}\n`);
    for await (const text of tests.stdout.setEncoding('utf8')) {
      yield logChunk(text, { append: true });
      log = (log + text).slice(-100_000);
    }
    const [code] = await ended;
    if (turn.signal.aborted) return;
    yield logChunk(`exit code ${code}\n`, { append: true, lastChunk: true });
    yield* summary(log);
  } finally {
    turn.signal.removeEventListener('abort', kill);
    kill();
  }
}

function logChunk(text: string, options = {}): AgentEvent {
  return artifact({ artifactId: 'test-log', name: 'test-log', parts: [textPart(text)] }, options);
}

/** Reads the counts that the reporter prints at the end. */
function* summary(log: string): Iterable<AgentEvent> {
  const count = (what: string) => Number(log.match(new RegExp(`^\\S ${what} ([\\d.]+)$`, 'm'))?.[1]);
  const [passed, failures, durationMs] = [count('pass'), count('fail'), Math.round(count('duration_ms'))];
  if (Number.isNaN(passed + failures + durationMs)) {
    yield failed('The test run broke off without a summary');
    return;
  }
  const data = { passed, failed: failures, durationMs };
  yield artifact({ artifactId: 'summary', name: 'summary', parts: [dataPart(data)] });
  yield completed(`${passed} passed, ${failures} failed in ${durationMs} ms`);
}

function killGroup(tests: TestProcess): void {
  if (tests.pid === undefined || tests.exitCode !== null || tests.signalCode !== null) return;
  try {
    process.kill(-tests.pid, 'SIGKILL');
  } catch {
    tests.kill('SIGKILL'); // No process groups on this system.
  }
}

async function suitesOf(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
}

/** The test files of the suites; where a test is named, only those that have it. */
async function testFiles(suites: string[], name = ''): Promise<string[]> {
  const files: string[] = [];
  for (const suite of new Set(suites)) {
    for (const file of await readdir(`${PACKAGE}/${suite}`)) {
      if (!file.endsWith('.test.js')) continue;
      const path = `${suite}/${file}`;
      const tests = (await readFile(`${PACKAGE}/${path}`, 'utf8')).matchAll(/\btest\((['"`])(.*?)\1/g);
      if ([...tests].some(([, , title]) => title?.includes(name))) files.push(path);
    }
  }
  return files;
}

/** What is left of `run the cart and price tests` without the words that only make it a sentence. */
function wordsOf(text: string): string[] {
  const words = text
    .toLowerCase()
    .replace(/"[^"]*"/g, ' ')
    .split(/[\s,]+|[.:!?]+(?=\s|$)/);
  return words.filter((word) => !/^(please|run|all|the|and|in|of|tests?|suites?|named|)$/.test(word));
}

export const testRunner: AgentDefinition = {
  id: 'test-runner',
  name: 'Test runner',
  description: 'Runs the tests of a sample package and streams their log.',
  version: '1.0.0',
  skills: [
    {
      id: 'run-tests',
      name: 'Run tests',
      description:
        'Runs suites (cart, price, stock, soak or all) or the tests of a quoted name. Gives the log as it ' +
        'grows (test-log), then the counts (summary: passed, failed, durationMs).',
      tags: ['test', 'ci'],
      examples: ['run cart and price', 'run all', 'run "a new cart is empty"'],
    },
  ],
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain', 'application/json'],
  streaming: true,
  settings: { ...AGENT_SETTINGS, v03: true },
  executor: new TestRunnerExecutor(),
};
