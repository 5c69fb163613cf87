import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { EmbeddedPostgres } from '../../src/database/index.js';

const PATIENCE = { timeout: 30_000 };
let folder: string;
const running = new Set<EmbeddedPostgres>();

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'parley-embedded-'));
  chmodSync(folder, 0o755);
});
afterEach(async () => {
  for (const postgres of running) await postgres.stop();
  running.clear();
  rmSync(folder, { recursive: true, force: true });
});

async function start(): Promise<EmbeddedPostgres> {
  const postgres = await EmbeddedPostgres.start(folder, { fsync: 'off' });
  running.add(postgres);
  return postgres;
}

async function stop(postgres: EmbeddedPostgres): Promise<void> {
  running.delete(postgres);
  await postgres.stop();
}

async function ask(url: string, statement: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  // The server may be killed while a test looks at it.
  client.on('error', () => undefined);
  await client.connect();
  try {
    const { rows } = await client.query({ text: statement, rowMode: 'array' });
    return rows.flat();
  } finally {
    await client.end();
  }
}

const serverPid = () => Number(readFileSync(join(folder, 'postgres/postmaster.pid'), 'utf8').split('\n')[0]);

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // A zombie in a container without an init counts as dead.
    return process.platform !== 'linux' || !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

describe('EmbeddedPostgres', () => {
  it('keeps what was committed when it is stopped and started again', async () => {
    const first = await start();
    await ask(first.url, 'create table kept as select 42 as answer');
    await stop(first);
    await expect(ask(first.url, 'select 1')).rejects.toThrow('ECONNREFUSED');
    const second = await start();
    expect(await ask(second.url, 'select answer from kept')).toEqual([42]);
  });

  it('is a UTF-8 server that does not depend on the locales of the machine', async () => {
    const { url } = await start();
    expect(await ask(url, `select current_setting('server_encoding'), upper('grüße'), 'a' < 'B'`)).toEqual([
      'UTF8',
      'GRÜßE',
      false,
    ]);
  });

  it('lets nobody in without the password of its folder, which others cannot read', async () => {
    const { url, folder: data } = await start();
    const guess = Object.assign(new URL(url), { password: 'postgres' }).href;
    await expect(ask(guess, 'select 1')).rejects.toMatchObject({ code: '28P01' });
    expect(statSync(data).mode & 0o077).toBe(0);
  });

  it('is one server for three that start it at the same time on a new folder', async () => {
    const all = await Promise.all([start(), start(), start()]);
    expect(new Set(all.map(({ url }) => url)).size).toBe(1);
  });

  it('goes on for those who still use it, and ends with the last one', async () => {
    const [first, second] = [await start(), await start()];
    const pid = serverPid();
    await stop(first);
    expect(await ask(second.url, 'select 1')).toEqual([1]);
    await stop(second);
    // Its pid file goes a moment before the process.
    await vi.waitUntil(() => !isAlive(pid), PATIENCE);
  });

  it('comes back after kill -9 of the server, over the stale pid file', async () => {
    const first = await start();
    await ask(first.url, 'create table kept as select 42 as answer');
    const pid = serverPid();
    process.kill(pid, 'SIGKILL');
    await vi.waitUntil(() => !isAlive(pid), PATIENCE);
    const second = await start();
    expect(serverPid()).not.toBe(pid);
    expect(await ask(second.url, 'select answer from kept')).toEqual([42]);
    await stop(first);
    expect(await ask(second.url, 'select 1')).toEqual([1]);
  });

  it('is joined by the next one after kill -9 of the process that started it, and then ends with that one', async () => {
    const source = `
      import { EmbeddedPostgres } from ${JSON.stringify(new URL('../../dist/database/index.js', import.meta.url).href)};
      console.log((await EmbeddedPostgres.start(${JSON.stringify(folder)})).url);
      setInterval(() => undefined, 1000);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', source], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [url] = await once(child.stdout, 'data');
    const pid = serverPid();
    child.kill('SIGKILL');
    await once(child, 'exit');
    const next = await start();
    expect(next.url).toBe(String(url).trim());
    expect(serverPid()).toBe(pid);
    // Until the server has noticed that its first client is gone.
    const present = `select count(*)::int from pg_stat_activity where application_name = 'parley presence'`;
    await vi.waitUntil(async () => (await ask(next.url, present))[0] === 1, PATIENCE);
    await stop(next);
    // Its pid file goes a moment before the process.
    await vi.waitUntil(() => !isAlive(pid), PATIENCE);
  });

  it('starts beside a stranger who sits on the port of its stale pid file and never answers', async () => {
    const first = await start();
    const { port } = new URL(first.url);
    const pid = serverPid();
    process.kill(pid, 'SIGKILL');
    await vi.waitUntil(() => !isAlive(pid), PATIENCE);
    const stranger = createServer().listen(Number(port), '127.0.0.1');
    await once(stranger, 'listening');
    try {
      const second = await start();
      expect(new URL(second.url).port).not.toBe(port);
      expect(await ask(second.url, 'select 1')).toEqual([1]);
    } finally {
      stranger.close();
    }
  });

  it('says what the server said when the folder holds something else', async () => {
    const first = await start();
    const data = first.folder;
    await stop(first);
    rmSync(join(data, 'PG_VERSION'));
    await expect(start()).rejects.toThrow(/PG_VERSION|not a (valid|database)/);
  });

  it.runIf(process.getuid?.() === 0)(
    'finds a place for root when its folder is closed to other accounts',
    async () => {
      chmodSync(folder, 0o700);
      const postgres = await start();
      expect(postgres.folder).not.toContain(folder);
      expect(await ask(postgres.url, 'select 1')).toEqual([1]);
      const home = join(postgres.folder, '..');
      await stop(postgres);
      rmSync(home, { recursive: true });
    },
  );
});
