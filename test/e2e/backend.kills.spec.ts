import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { oldA2AStand } from '../support/backends/a2a.old.stand.js';
import { a2aStand } from '../support/backends/a2a.stand.js';
import { mcpStand, mcpStdioStand } from '../support/backends/mcp.stand.js';
import { modelStand } from '../support/backends/model.stand.js';
import { commandStand, httpStand, moduleStand } from '../support/backends/plain.stands.js';
import type { Stand } from '../support/backends/stand.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';
import { type RunningService, startService } from '../support/service.js';

const LOST = 'The service was interrupted while the agent was working.';
const HEADERS = { 'content-type': 'application/json', 'a2a-version': '1.0' };
const PATIENCE = { timeout: 30_000, interval: 100 };

/** `found`: the work goes on where it was. `failed`: by the policy of no retries. `again`: one more run is allowed. */
type Fate = 'found' | 'failed' | 'again';

const KINDS: readonly [kind: string, fate: Fate, open: () => Promise<Stand>][] = [
  ['module', 'failed', moduleStand],
  ['command', 'failed', commandStand],
  ['openai', 'failed', modelStand],
  ['mcp', 'failed', mcpStand],
  ['mcp-stdio', 'failed', mcpStdioStand],
  ['http', 'failed', () => httpStand('sse')],
  ['http-again', 'again', () => httpStand('ndjson')],
  ['http-callback', 'found', () => httpStand('callback')],
  ['a2a', 'found', () => a2aStand('JSONRPC')],
  ['a2a-rest', 'found', () => a2aStand('HTTP+JSON')],
  ['a2a-old', 'found', () => oldA2AStand('JSONRPC')],
];

interface TaskJson {
  readonly id: string;
  readonly status: { state: string; message?: { parts: { text: string }[] } };
  readonly metadata?: Record<string, unknown>;
}

describe('kill -9 of the replica while an agent works', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-kills-'));
  const stands = new Map<string, Stand>();
  const tasks = new Map<string, string>();
  let database: TestDatabase;
  let heir: RunningService;

  const rest = (service: RunningService, agent: string) => `${service.httpUrl}/agents/${agent}/rest`;
  const read = async (agent: string) => {
    const response = await fetch(`${rest(heir, agent)}/tasks/${tasks.get(agent)}`, { headers: HEADERS });
    return (await response.json()) as TaskJson;
  };

  const cancel = async (kind: string) => {
    const url = `${rest(heir, kind)}/tasks/${tasks.get(kind)}:cancel`;
    const { status } = await fetch(url, { method: 'POST', headers: HEADERS, body: '{}' });
    expect(status).toBe(200);
  };

  beforeAll(async () => {
    database = await createDatabase();
    for (const [kind, fate, open] of KINDS) {
      const stand = await open();
      stands.set(kind, stand);
      const file = { id: kind, name: kind, description: 'Does what the script says', backend: stand.backend };
      const retries = fate === 'again' ? { crashRetries: 1 } : {};
      writeFileSync(join(folder, `${kind}.json`), JSON.stringify({ ...file, ...retries }));
    }
    const serve = () =>
      startService({ database, env: { PARLEY_AGENTS_DIR: folder, PARLEY_LEASE_MS: '3000' } });
    const dying = await serve();
    for (const [kind] of KINDS) {
      const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'wait' }] };
      const configuration = { returnImmediately: true };
      const body = JSON.stringify({ message, configuration });
      const sent = await fetch(`${rest(dying, kind)}/message:send`, {
        method: 'POST',
        headers: HEADERS,
        body,
      });
      tasks.set(kind, ((await sent.json()) as { task: TaskJson }).task.id);
    }
    heir = dying;
    const isAtWork = async (kind: string, fate: Fate) => {
      const { status, metadata } = await read(kind);
      expect(status, kind).toMatchObject({ state: 'TASK_STATE_WORKING' });
      if (fate === 'found') expect(metadata?.['parley.dev/remote'], kind).toBeDefined();
    };
    for (const [kind, fate] of KINDS) {
      if (fate === 'failed' || fate === 'found') await vi.waitFor(() => isAtWork(kind, fate), PATIENCE);
      else await vi.waitFor(() => expect(stands.get(kind)?.begun()).toBe(1), PATIENCE);
    }
    await dying.kill();
    heir = await serve();
  }, 120_000);
  afterAll(async () => {
    await heir?.stop();
    for (const stand of stands.values()) await stand.close();
    await database?.drop();
    rmSync(folder, { recursive: true });
  });

  it.each(KINDS.filter(([, fate]) => fate === 'failed'))(
    'fails the task of %s and says why',
    async (kind) => {
      const isFailed = async () => expect((await read(kind)).status.state).toBe('TASK_STATE_FAILED');
      await vi.waitFor(isFailed, PATIENCE);
      expect((await read(kind)).status.message?.parts[0]?.text).toBe(LOST);
      expect(stands.get(kind)!.begun()).toBeLessThanOrEqual(1);
    },
  );

  it.each(KINDS.filter(([, fate]) => fate === 'found'))(
    'goes on with the task of %s, begins nothing twice, and can still stop it',
    async (kind) => {
      const stand = stands.get(kind)!;
      expect((await read(kind)).status.state).toBe('TASK_STATE_WORKING');
      expect(stand.running()).toBe(1);
      await vi.waitFor(() => cancel(kind), PATIENCE);
      expect((await read(kind)).status.state).toBe('TASK_STATE_CANCELED');
      expect(stand.begun()).toBe(1);
    },
  );

  it('runs the turn again where that is allowed, once', async () => {
    await vi.waitFor(() => expect(stands.get('http-again')?.begun()).toBe(2), PATIENCE);
    expect((await read('http-again')).status.state).toBe('TASK_STATE_WORKING');
    await cancel('http-again');
    await vi.waitFor(() => expect(stands.get('http-again')?.running()).toBe(0), PATIENCE);
    expect(stands.get('http-again')?.begun()).toBe(2);
  });
});
