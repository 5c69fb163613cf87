import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { JsonObject } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callAny } from '../support/any.binding.js';
import { type RunningService, startService } from '../support/service.js';

/** They are built from packages of their languages, which takes minutes: `npm run verify -- v03` does it. */
const FULL = process.env.PARLEY_TEST_FULL === 'true';
const ROOT = new URL('../witness', import.meta.url).pathname;
const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'parley-witness-'));

const has = (command: string, ...args: string[]) => {
  try {
    execFileSync(command, args, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};
const isThere = FULL ? { python: has('python3', '--version'), go: has('go', 'version') } : undefined;
const why = (language: 'python' | 'go') => {
  if (!isThere) return ' (skipped: npm run verify -- v03 runs it)';
  return isThere[language] ? '' : ` (skipped: ${language} is not installed)`;
};

/** Configs can be made; nothing that is posted arrives. */
const PUSH = {
  PARLEY_PUSH_UNSIGNED: 'true',
  PARLEY_PUSH_KEYS: `test=${Buffer.alloc(32, 1).toString('base64')}`,
  PARLEY_PUSH_ALLOW: 'hook.example',
};

let service: RunningService;
let theirs: string;
beforeAll(async () => {
  if (!FULL) return;
  service = await startService({ env: PUSH });
  theirs = await makeTask();
});
afterAll(async () => {
  await service?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** A task of a client of 1.0, with whatever a message may have. */
async function makeTask(): Promise<string> {
  const metadata = { a: [1, null, { b: 'ü' }] };
  const parts: JsonObject[] = [
    { text: 'hello', metadata, mediaType: 'text/plain', filename: 'a' },
    { raw: 'AP8=', metadata, mediaType: 'application/octet-stream', filename: 'ü.bin' },
    { url: 'https://files.example/a', metadata },
    ...[{ k: null }, [1], 'text', null].map((data) => ({ data, metadata })),
  ];
  const more = { metadata, extensions: ['https://e.example/x'], referenceTaskIds: ['t-1'] };
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts, ...more };
  const sent = await callAny(service, { binding: 'JSONRPC', operation: 'sendMessage', request: { message } });
  return (sent.reply as unknown as { task: { id: string } }).task.id;
}

interface Seen {
  readonly file: { readonly task: string };
}

const ALL = {
  done: ['completed', 'hello'],
  read: ['completed', 'hello'],
  streamed: ['submitted', 'working', 'completed'],
  direct: 'hi',
  asked: 'input-required',
  answered: 'completed',
  file: { task: expect.any(String), isWhole: true },
  referring: 'completed',
  cancelled: 'canceled',
  followed: 'canceled',
  push: [true, 'https://hook.example/a'],
  theirs: ['text', 'file', 'file', 'data', 'data', 'data', 'data'],
  unknown: true,
  tooLate: true,
};

/** What the program of a language saw; and the file that it sent has to be there for a client of 1.0. */
async function holds(command: string, args: readonly string[]): Promise<void> {
  const { stdout } = await run(command, args, { maxBuffer: 2 ** 24 });
  const seen = JSON.parse(stdout) as Seen;
  expect(seen).toEqual(ALL);
  const { reply } = await callAny(service, {
    ...{ binding: 'JSONRPC', operation: 'getTask', request: { id: seen.file.task } },
  });
  const raw = Buffer.from(Uint8Array.from({ length: 256 }, (_, byte) => byte)).toString('base64');
  expect(reply).toMatchObject({ history: [{ parts: [{ raw }] }], artifacts: [{ parts: [{ raw }] }] });
}

describe.runIf(isThere?.python)(`The Python SDK of 0.3${why('python')}`, () => {
  const python = join(folder, 'bin/python');
  beforeAll(async () => {
    await run('python3', ['-m', 'venv', folder]);
    const packages = ['-r', join(ROOT, 'python/requirements.txt')];
    await run(python, ['-m', 'pip', 'install', '--quiet', ...packages]);
  }, 600_000);

  it.each(['JSONRPC', 'HTTP+JSON', 'GRPC'])(
    'drives an agent over %s unchanged (B102, B114)',
    async (transport) => {
      await holds(python, [join(ROOT, 'python/witness.py'), service.httpUrl, transport, theirs]);
    },
  );
});

describe.runIf(isThere?.go)(`The Go SDK of 0.3${why('go')}`, () => {
  const program = join(folder, 'witness');
  beforeAll(async () => {
    await run('go', ['build', '-C', join(ROOT, 'go'), '-o', program, '.']);
  }, 600_000);

  it.each(['JSONRPC', 'GRPC'])('drives an agent over %s unchanged (B102, B114)', async (transport) => {
    await holds(program, [service.httpUrl, transport, theirs]);
  });
});
