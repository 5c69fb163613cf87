import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { GrpcClient, JsonRpcClient, RestClient } from '../conformance/clients/index.js';
import { read, says, send, start, type TaskJson, textOf } from '../conformance/task.calls.js';
import { type RunningService, startService } from '../support/service.js';

const LIMIT = 10 * 1024 * 1024;

let service: RunningService;
beforeAll(async () => {
  service = await startService({ env: { PARLEY_DATABASE_POOL: '10' } });
});
afterAll(() => service?.stop());

const clients = () => [
  new JsonRpcClient(`${service.httpUrl}/jsonrpc`),
  new RestClient(`${service.httpUrl}/rest`),
  new GrpcClient(service.grpcAddress),
];

async function times(count: number, call: () => Promise<unknown>): Promise<void> {
  for (let n = 0; n < count; n++) await call();
}

it('200 sends that wait for their agents and 200 idle streams hold up nobody else (B37)', async () => {
  const [jsonRpc, rest, grpc] = clients();
  const contextId = crypto.randomUUID();
  let answered = 0;
  const sleepers = Array.from({ length: 200 }, async (_, n) => {
    const task = await send([jsonRpc!, rest!, grpc!][n % 3]!, says('sleep 600000', { contextId }));
    answered++;
    return task.status.state;
  });
  const asleep = () => rest!.result('listTasks', { contextId, status: 'TASK_STATE_WORKING', pageSize: 100 });
  await vi.waitUntil(async () => (await asleep()).totalSize === 200, { timeout: 30_000, interval: 100 });
  const parked = await start(rest!, 'ask');
  const streams = await Promise.all(
    Array.from({ length: 200 }, () => rest!.stream('subscribeToTask', { id: parked.id })),
  );
  await Promise.all([
    times(20, () => read(jsonRpc!, parked.id)),
    times(20, () => read(grpc!, parked.id)),
    times(20, () => fetch(`${service.httpUrl}/.well-known/agent-card.json`)),
    times(20, () => fetch(`${service.httpUrl}/health/ready`)),
    times(20, () => send(rest!, 'hello')),
  ]);
  expect(answered).toBe(0);
  for (let { tasks } = await asleep(); (tasks as TaskJson[]).length > 0; { tasks } = await asleep()) {
    await Promise.all((tasks as TaskJson[]).map(({ id }) => rest!.result('cancelTask', { id })));
  }
  expect(new Set(await Promise.all(sleepers))).toEqual(new Set(['TASK_STATE_CANCELED']));
  for (const stream of streams) stream.leave();
});

it('A message of nine megabytes comes back whole on every binding, one over the limit on none (B113)', async () => {
  const raw = Buffer.alloc(6.7 * 1024 * 1024, 'ab').toString('base64');
  for (const client of clients()) {
    const task = await send(client, says('', { parts: [{ raw }] }));
    expect(task.artifacts[0]?.parts[0]?.raw === raw).toBe(true);
    const over = await client.call('sendMessage', { message: says('x'.repeat(LIMIT + 1)) });
    expect(over.refusal?.reason).toBe('PAYLOAD_TOO_LARGE');
    expect(textOf((await send(client, 'still here')).artifacts[0])).toBe('still here');
  }
});
