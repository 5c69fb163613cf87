import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { BINDINGS } from '../support/any.binding.js';
import { type RunningService, startService } from '../support/service.js';

const PATIENCE = { timeout: 20_000, interval: 50 };
const HEADERS = { 'content-type': 'application/json', 'a2a-version': '1.0' };

interface TaskJson {
  readonly id: string;
  readonly status: { state: string };
  readonly metadata?: { 'parley.dev/remote'?: { taskId: string } };
  readonly artifacts?: { parts: { text?: string }[] }[];
}

describe('An agent of another A2A service, which waits for an approval there', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-upstream-'));
  let upstream: RunningService;
  let front: RunningService;
  beforeAll(async () => {
    upstream = await startService({ env: { PARLEY_OPERATOR_TOKEN: 'of-the-operator' } });
    for (const binding of BINDINGS) {
      const id = idOf(binding);
      const backend = { kind: 'a2a', url: `${upstream.httpUrl}/agents/echo/`, binding, card: true };
      const agent = { id, name: 'Front', description: 'Echoes elsewhere', backend };
      writeFileSync(join(folder, `${id}.json`), JSON.stringify(agent));
    }
    front = await startService({ env: { PARLEY_AGENTS_DIR: folder } });
  });
  afterAll(async () => {
    await front?.stop();
    await upstream?.stop();
    rmSync(folder, { recursive: true });
  });
  const idOf = (binding: string) => `front-${binding.toLowerCase().replace('+', '-')}`;

  it.each(BINDINGS)('waits too, and goes on when it does, over %s', async (binding) => {
    const rest = `${front.httpUrl}/agents/${idOf(binding)}/rest`;
    const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'auth' }] };
    const body = JSON.stringify({ message });
    const sent = await fetch(`${rest}/message:send`, { method: 'POST', headers: HEADERS, body });
    const { task } = (await sent.json()) as { task: TaskJson };
    expect(task.status.state).toBe('TASK_STATE_AUTH_REQUIRED');

    const remote = task.metadata?.['parley.dev/remote']?.taskId;
    const approval = { method: 'POST', body: JSON.stringify({ approved: true, by: 'ann' }) };
    const answer = await fetch(`${upstream.httpUrl}/operator/approvals/${remote}`, {
      ...approval,
      headers: { 'content-type': 'application/json', authorization: 'Bearer of-the-operator' },
    });
    expect(answer.status, await answer.text()).toBe(200);
    const read = async () =>
      (await (await fetch(`${rest}/tasks/${task.id}`, { headers: HEADERS })).json()) as TaskJson;
    const isDone = async () => expect((await read()).status.state).toBe('TASK_STATE_COMPLETED');
    await vi.waitFor(isDone, PATIENCE);
  });

  it('lends our card its skills and modes', async () => {
    const cardOf = async (url: string) =>
      (await (await fetch(url, { headers: HEADERS })).json()) as { name: string; skills: object[] };
    const card = await cardOf(`${front.httpUrl}/agents/${idOf('JSONRPC')}/card`);
    expect(card.name).toBe('Front');
    expect(card.skills).toEqual((await cardOf(`${upstream.httpUrl}/agents/echo/card`)).skills);
  });
});
