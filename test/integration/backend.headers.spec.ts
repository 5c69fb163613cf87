import { Logger } from '@nestjs/common';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Task } from '../../src/protocol/index.js';
import { TaskState } from '../../src/protocol/index.js';
import { a2aStand } from '../support/backends/a2a.stand.js';
import { BackendService, textOf } from '../support/backends/backend.service.js';
import { mcpStand } from '../support/backends/mcp.stand.js';
import { modelStand } from '../support/backends/model.stand.js';
import { httpStand } from '../support/backends/plain.stands.js';
import type { SeenRequest, Stand } from '../support/backends/stand.js';
import { call, House, send, until } from '../support/house.js';
import { recordSpans } from '../support/recorded.spans.js';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const CALLER = 'b7ad6b7169203331';
const HEADERS: Readonly<Record<string, string>> = {
  'x-tenant': 'acme',
  authorization: 'Bearer of-the-caller',
  'x-other': 'not named',
};
const CALL = { traceparent: `00-${TRACE}-${CALLER}-01`, header: (name: string) => HEADERS[name] };
const FORWARD = ['x-tenant', 'authorization', 'x-absent'];

const exporter = recordSpans();
beforeAll(() => Logger.overrideLogger(false));

const spans = (wanted: string) => exporter.getFinishedSpans().filter(({ name }) => name === wanted);

let house: House;
beforeEach(async () => {
  house = await House.open();
});
afterEach(() => house.close());

const forwarding = (stand: Stand, names = FORWARD) => ({
  backend: { ...stand.backend, forwardHeaders: names },
});

async function ask(service: BackendService, text: string): Promise<Task> {
  const { payload } = await service.replica.service.sendMessage(send(text), call(CALL));
  return payload.value as Task;
}

/** The calls of turns, without the look at a card. */
const turns = ({ requests }: Stand) => requests.filter(({ url }) => !url.includes('.well-known'));
const told = ({ headers }: SeenRequest) => [headers['x-tenant'], headers.authorization, headers['x-other']];

async function storedRequests({ replica }: BackendService): Promise<string> {
  const text = 'SELECT string_agg(request::text, chr(10)) AS all FROM task_events WHERE request IS NOT NULL';
  const { rows } = await replica.postgres.query<{ all: string }>({ text });
  return rows[0]?.all ?? '';
}

const KINDS: readonly [string, () => Promise<Stand>][] = [
  ['http', () => httpStand('json')],
  ['openai', modelStand],
  ['a2a over JSON-RPC', () => a2aStand('JSONRPC')],
  ['a2a over HTTP+JSON', () => a2aStand('HTTP+JSON')],
  ['mcp', mcpStand],
];

describe.each(KINDS)('An agent behind %s', (_, open) => {
  it('is passed the headers that are named, and the trace of its turn, on every call', async () => {
    const stand = await open();
    const service = await BackendService.open(house, stand, { file: forwarding(stand) });
    const task = await ask(service, 'hello');

    expect(textOf(task)).toBe('hello to you');
    expect(turns(stand).length).toBeGreaterThan(0);
    for (const request of turns(stand))
      expect(told(request)).toEqual(['acme', 'Bearer of-the-caller', undefined]);
    const turn = () => spans('a2a/turn').find(({ attributes }) => attributes['a2a.task.id'] === task.id);
    await until(() => turn() !== undefined);
    const { traceId, spanId } = turn()!.spanContext();
    expect(traceId).toBe(TRACE);
    const below = () =>
      spans('a2a/backend').filter(({ parentSpanContext }) => parentSpanContext?.spanId === spanId);
    const carried = () => below().map((one) => `00-${TRACE}-${one.spanContext().spanId}-01`);
    // The span of what is broken off at the end of a turn, as a stream of MCP is, may end after the turn's.
    for (const { headers } of turns(stand))
      await until(() => carried().includes(String(headers.traceparent)));
    await service.close();
  });

  it('is passed none where none is named', async () => {
    const stand = await open();
    const service = await BackendService.open(house, stand);
    await ask(service, 'hello');
    for (const request of turns(stand)) expect(told(request)).toEqual([undefined, undefined, undefined]);
    await service.close();
  });
});

describe("A caller's headers", () => {
  it('are stored encrypted while the turn runs, and gone when it has ended', async () => {
    const stand = await httpStand('sse');
    const service = await BackendService.open(house, stand, { file: forwarding(stand) });
    const { payload } = await service.replica.service.sendMessage(send('wait', { now: true }), call(CALL));
    const { id } = payload.value as Task;
    await until(() => stand.running() === 1);
    expect(await storedRequests(service)).toContain('headers');
    expect(await storedRequests(service)).not.toContain('of-the-caller');

    await service.replica.cancel(id);
    await until(async () => !(await storedRequests(service)).includes('headers'));
    await service.close();
  });

  it('are gone, too, where they came with a later message of the turn, or its replica died', async () => {
    const stand = await httpStand('sse');
    const file = forwarding(stand);
    const dying = await BackendService.open(house, stand, { leaseMs: 300, isLive: false, file });
    const { service } = dying.replica;
    const { payload } = await service.sendMessage(send('wait', { now: true }), call());
    const { id } = payload.value as Task;
    await until(() => stand.running() === 1);
    await service.sendMessage(send('more', { taskId: id, now: true }), call(CALL));
    expect(await storedRequests(dying)).toContain('headers');

    const heir = await BackendService.open(house, stand, { file });
    await until(async () => (await heir.read(id)).status?.state === TaskState.FAILED);
    expect(await storedRequests(heir)).not.toContain('headers');
    await dying.stop();
    await heir.close();
  });

  it('are there for the replica that takes the turn over', async () => {
    const stand = await httpStand('sse');
    const file = { ...forwarding(stand), crashRetries: 1 };
    const dying = await BackendService.open(house, stand, { leaseMs: 300, isLive: false, file });
    await dying.replica.service.sendMessage(send('wait', { now: true }), call(CALL));
    await until(() => stand.running() === 1);
    const heir = await BackendService.open(house, stand, { leaseMs: 60_000, file });
    await until(() => stand.begun() === 2);

    expect(turns(stand).map(told)).toEqual([1, 2].map(() => ['acme', 'Bearer of-the-caller', undefined]));
    await dying.stop();
    await heir.close();
  });

  it('are not there for a turn that an operator started', async () => {
    const stand = await httpStand('json');
    const service = await BackendService.open(house, stand, { file: forwarding(stand) });
    const { id } = await ask(service, 'auth');
    await service.replica.approvals.resolve(id, { approved: true, by: 'ann' });
    await until(async () => (await service.read(id)).status?.state === TaskState.COMPLETED);

    expect(turns(stand).map(told)).toEqual([
      ['acme', 'Bearer of-the-caller', undefined],
      [undefined, undefined, undefined],
    ]);
    await service.close();
  });
});

describe('Another A2A agent', () => {
  it.each(['JSONRPC', 'HTTP+JSON'] as const)(
    'shows its skills and modes on our card, over %s',
    async (binding) => {
      const stand = await a2aStand(binding);
      const service = await BackendService.open(house, stand);
      expect(await service.shown({ card: true })).toMatchObject({
        skills: [{ id: 'all', name: 'All', tags: ['all'] }],
        defaultInputModes: ['text/plain'],
        defaultOutputModes: ['text/plain'],
      });
      expect(await service.shown({})).toEqual({});
      await service.close();
      await expect(service.shown({ card: true })).rejects.toThrow(/the card of http:.* cannot be read/);
    },
  );
});
