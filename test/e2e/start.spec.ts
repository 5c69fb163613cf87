import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, inject, it, vi } from 'vitest';
import { createDatabase } from '../support/postgres.js';
import { type RunningService, type ServiceOptions, startService } from '../support/service.js';

const MAIN = new URL('../../dist/main.js', import.meta.url).pathname;
const run = promisify(execFile);
const PATIENCE = { timeout: 30_000 };
const services: RunningService[] = [];

async function start(options: ServiceOptions = {}): Promise<RunningService> {
  const service = await startService(options);
  services.push(service);
  return service;
}

afterEach(async () => {
  for (const service of services.splice(0)) await service.stop();
});

async function call(service: RunningService, method: string, params: object) {
  const response = await fetch(`${service.httpUrl}/jsonrpc`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'A2A-Version': '1.0' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  return (await response.json()) as {
    result?: { task?: { id: string; status: { state: string } } };
    error?: object;
  };
}

const send = (service: RunningService, text: string) =>
  call(service, 'SendMessage', {
    message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }] },
  });

async function ready(service: RunningService): Promise<[number, unknown]> {
  const response = await fetch(`${service.httpUrl}/health/ready`);
  return [response.status, await response.json()];
}

async function occupied(): Promise<{ port: string; server: Server }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: String((server.address() as AddressInfo).port), server };
}

describe('a start that cannot succeed', () => {
  it.each(['PARLEY_HTTP_PORT', 'PARLEY_GRPC_PORT'])('names the taken port and %s', async (variable) => {
    const { port, server } = await occupied();
    try {
      const refused = start({ env: { [variable]: port } });
      await expect(refused).rejects.toThrow(
        new RegExp(
          `ended with 1 .*\\nParley cannot start: 127.0.0.1:${port} is taken; stop .* set ${variable} to`,
        ),
      );
    } finally {
      server.close();
    }
  });

  it('says when the machine has no such address', async () => {
    const refused = start({ env: { PARLEY_HOST: '192.0.2.1', PARLEY_INSECURE_OPEN: 'true' } });
    await expect(refused).rejects.toThrow(
      'Parley cannot start: this machine has no address 192.0.2.1; correct PARLEY_HOST',
    );
  });

  it.each([
    [
      'nobody listens',
      'postgres://u:secret@127.0.0.1:1/x',
      /127\.0\.0\.1:1 cannot be reached \(ECONNREFUSED\)/,
    ],
    ['the password is wrong', 'password', /refuses the password .*correct PARLEY_DATABASE_URL/],
    ['the database is missing', 'pathname', /has no such database .*correct PARLEY_DATABASE_URL/],
  ])('says what is wrong with the database when %s', async (_, given, message) => {
    const url = given.includes(':')
      ? given
      : Object.assign(new URL(inject('postgres').url), { [given]: 'secret' }).href;
    const refused = start({ env: { PARLEY_DATABASE_URL: url } });
    await expect(refused).rejects.toThrow(message);
    await expect(refused).rejects.not.toThrow('u:secret');
    await expect(refused).rejects.not.toThrow(/ERROR|Retrying/);
  });

  it('says all that is wrong with the configuration, and nothing else', async () => {
    const refused = start({
      env: { PARLEY_HTTP_PORT: 'http', PARLEY_LEASE_MS: 'long', PARLEY_HOST: '0.0.0.0' },
    });
    await expect(refused).rejects.toThrow(
      /configuration:\n {2}PARLEY_HTTP_PORT: .*\n {2}PARLEY_LEASE_MS: .*\n {2}PARLEY_HOST: [^\n]*$/,
    );
  });

  it('names agents that do not exist', async () => {
    const refused = start({ env: { PARLEY_AGENTS: 'echo,nobody' } });
    await expect(refused).rejects.toThrow(/PARLEY_AGENTS: there is no agent "nobody"/);
  });
});

describe('the command line', () => {
  it('lists every setting with --help', async () => {
    const { stdout } = await run(process.execPath, [MAIN, '--help'], { env: {} });
    expect(stdout).toContain('--http-port <port>');
    expect(stdout).toContain('PARLEY_DATABASE_URL');
  });

  it('says its version, and refuses a flag that does not exist', async () => {
    expect((await run(process.execPath, [MAIN, '--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    await expect(run(process.execPath, [MAIN, '--http-prt', '1'])).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('--http-port'),
    });
  });
});

describe('a running service', () => {
  it('is ready, then neither ready nor dead when its database goes', async () => {
    const database = await createDatabase();
    const service = await start({ database });
    expect(await ready(service)).toEqual([200, { status: 'ready', hints: 'connected' }]);
    await database.drop();
    expect(await ready(service)).toEqual([503, { status: 'database unavailable' }]);
    expect((await fetch(`${service.httpUrl}/health/live`)).status).toBe(200);
  });

  it('finishes what it is at before it stops, and says meanwhile that it is draining', async () => {
    const service = await start();
    const answer = send(service, 'sleep 1500');
    await vi.waitUntil(
      async () => JSON.stringify(await call(service, 'ListTasks', {})).includes('WORKING'),
      PATIENCE,
    );
    process.kill(service.pid, 'SIGTERM');
    await vi.waitUntil(async () => (await ready(service))[0] === 503, PATIENCE);
    expect(await ready(service)).toEqual([503, { status: 'draining' }]);
    expect((await answer).result?.task?.status.state).toBe('TASK_STATE_COMPLETED');
    expect(await service.ended).toBe(0);
  });

  it('stops at once when it is told so twice', async () => {
    const service = await start();
    send(service, 'sleep 20000').catch(() => undefined);
    await vi.waitUntil(
      async () => JSON.stringify(await call(service, 'ListTasks', {})).includes('WORKING'),
      PATIENCE,
    );
    const goneWhenTold = () => {
      try {
        return !process.kill(service.pid, 'SIGINT');
      } catch {
        return true;
      }
    };
    await vi.waitUntil(goneWhenTold, PATIENCE);
    expect(await service.ended).toBe(1);
  });
});

describe('a service without any setting of a database', () => {
  it('shows a line to paste that works, and has its tasks still after kill -9', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'parley-first-'));
    chmodSync(folder, 0o755);
    const env = { PARLEY_DATA_DIR: folder, PARLEY_DATABASE_URL: '' };
    try {
      const pasted = await firstStart({ ...env, PARLEY_HTTP_PORT: '0', PARLEY_GRPC_PORT: '0' });
      const { task } = JSON.parse(pasted).result;
      expect(task.artifacts[0].parts).toEqual([{ text: 'hello' }]);
      const again = await startService({ env });
      try {
        expect((await call(again, 'GetTask', { id: task.id })).result).toEqual(task);
      } finally {
        await again.stop();
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  /** Starts as a person does, runs the line that is shown, kills the service. Answers what the line printed. */
  async function firstStart(env: Record<string, string>): Promise<string> {
    const child = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    let shown = '';
    child.stdout.on('data', (text) => {
      shown += text;
    });
    try {
      const line = await vi.waitUntil(() => /^ +(curl .*)\n/m.exec(shown)?.[1], PATIENCE);
      return (await run('sh', ['-c', line])).stdout;
    } finally {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  }
});
