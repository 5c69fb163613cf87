import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import openapiTS, { astToString } from 'openapi-typescript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningService, startService } from '../support/service.js';

const ROOT = new URL('../..', import.meta.url).pathname;
const run = promisify(execFile);

let service: RunningService;
let folder: string;
beforeAll(async () => {
  service = await startService({ env: { PARLEY_API_KEYS: 'false' } });
  folder = mkdtempSync(join(tmpdir(), 'parley-client-'));
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
});
afterAll(async () => {
  await service?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** What a user of the generated types writes; the compiler checks each name in it. */
const CLIENT = `
import createClient from 'openapi-fetch';
import type { components, paths } from './parley.js';

const client = createClient<paths>({ baseUrl: process.argv[2] });
const header = { 'A2A-Version': '1.0' } as const;
const message: components['schemas']['Message'] = {
  messageId: crypto.randomUUID(),
  role: 'ROLE_USER',
  parts: [{ text: 'hello' }],
};
const sent = await client.POST('/message:send', { params: { header }, body: { message } });
const task = sent.data && 'task' in sent.data ? sent.data.task : undefined;
const read = await client.GET('/tasks/{id}', { params: { header, path: { id: task?.id ?? '' } } });
const list = await client.GET('/tasks', { params: { header, query: { pageSize: 1, status: 'TASK_STATE_COMPLETED' } } });
const site = createClient<paths>({ baseUrl: process.argv[2].slice(0, -'/rest'.length) });
const feed = await site.GET('/changes', { params: { header, query: { wait: 10 } } });
const missing = await client.GET('/tasks/{id}', { params: { header, path: { id: 'nobody' } } });
const stream = await client.POST('/message:stream', {
  params: { header },
  body: { message: { ...message, messageId: crypto.randomUUID() } },
  parseAs: 'text',
});
console.log(
  JSON.stringify({
    state: read.data?.status.state,
    listed: list.data?.tasks.map(({ id }) => id === task?.id),
    reason: missing.error?.error.details[0]?.reason,
    changed: feed.data?.tasks.map(({ id }) => id === task?.id),
    frames: stream.data?.match(/^data: /gm)?.length,
  }),
);
`;

const OPTIONS = [
  '--strict',
  '--target',
  'ES2022',
  '--module',
  'NodeNext',
  '--skipLibCheck',
  '--types',
  'node',
];

describe('The OpenAPI document of a running service', () => {
  it('gives a client that compiles, and that the service understands', async () => {
    const types = await openapiTS(new URL(`${service.httpUrl}/openapi.json`));
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    writeFileSync(join(folder, 'parley.d.ts'), astToString(types));
    writeFileSync(join(folder, 'client.ts'), CLIENT);
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    await run(process.execPath, [tsc, ...OPTIONS, 'client.ts'], { cwd: folder });

    const { stdout } = await run(process.execPath, ['client.js', `${service.httpUrl}/rest`], { cwd: folder });

    const { frames, ...rest } = JSON.parse(stdout);
    expect(rest).toEqual({
      state: 'TASK_STATE_COMPLETED',
      listed: [true],
      changed: [true],
      reason: 'TASK_NOT_FOUND',
    });
    expect(frames).toBeGreaterThan(1);
  });

  it('is readable as a page that fetches nothing', async () => {
    const response = await fetch(`${service.httpUrl}/docs`);
    const page = await response.text();

    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(page).toContain('Sends a message and, by default, waits until the task rests');
    expect(page).not.toMatch(/<script|src=|<link|https?:\/\//);
    const targets = [...page.matchAll(/href="#(\w+)"/g)].map(([, id]) => id);
    expect(targets.filter((id) => !page.includes(`id="${id}"`))).toEqual([]);
    expect(targets.length).toBeGreaterThan(50);
  });
});
