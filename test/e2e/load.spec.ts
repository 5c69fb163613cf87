import { afterAll, beforeAll, expect, it } from 'vitest';
import { GrpcClient, JsonRpcClient, RestClient } from '../conformance/clients/index.js';
import { read, says, send, start, textOf } from '../conformance/task.calls.js';
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

/** Milliseconds of the slowest of some calls, one after the other. */
async function slowest(count: number, call: () => Promise<unknown>): Promise<number> {
  let worst = 0;
  for (let n = 0; n < count; n++) {
    const before = performance.now();
    await call();
    worst = Math.max(worst, performance.now() - before);
  }
  return worst;
}

it('200 sends that wait for their agents and 200 idle streams hold up nobody else (B37)', async () => {
  const [jsonRpc, rest, grpc] = clients();
  const sleepers = Array.from({ length: 200 }, (_, n) =>
    send([jsonRpc!, rest!, grpc!][n % 3]!, 'sleep 3000'),
  );
  const parked = await start(rest!, 'ask');
  const streams = await Promise.all(
    Array.from({ length: 200 }, () => rest!.stream('subscribeToTask', { id: parked.id })),
  );
  const others = await Promise.all([
    slowest(20, () => read(jsonRpc!, parked.id)),
    slowest(20, () => read(grpc!, parked.id)),
    slowest(20, () => fetch(`${service.httpUrl}/.well-known/agent-card.json`)),
    slowest(20, () => fetch(`${service.httpUrl}/health/ready`)),
    slowest(20, () => send(rest!, 'hello')),
  ]);
  for (const worst of others) expect(worst).toBeLessThan(2_000);
  const done = await Promise.all(sleepers);
  expect(new Set(done.map(({ status }) => status.state))).toEqual(new Set(['TASK_STATE_COMPLETED']));
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
