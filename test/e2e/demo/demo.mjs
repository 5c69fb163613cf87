// @ts-check
import { startService } from './demo.service.mjs';
import { grpcClient } from './grpc.client.mjs';
import { Planner } from './planner.mjs';
import { sdkClient } from './sdk.client.mjs';

const started = performance.now();
const service = await startService().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
// Whoever stops the demo, or stops reading it, leaves no service behind.
process.stdout.on('error', () => {});
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, () => service.stop().finally(() => process.exit(1)));
console.log(`Parley serves ${service.url} and gRPC on ${service.grpc}`);
const grpc = await grpcClient(service.grpc);
try {
  const clients = [
    { over: 'JSON-RPC, with the public @a2a-js/sdk client', client: sdkClient(service.url, 'JSONRPC') },
    { over: 'HTTP+JSON, with the same client', client: sdkClient(service.url, 'HTTP+JSON') },
    { over: 'gRPC, with nothing but stubs from a2a.proto', client: grpc },
  ];
  for (const { over, client } of clients) {
    console.log(`\nOver ${over}`);
    await new Planner(service, client).work();
  }
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`\nThe same work over three bindings, start to end in ${seconds} s`);
} catch (error) {
  console.error(error, `\nThe service said:\n${service.log()}`);
  process.exitCode = 1;
} finally {
  grpc.close();
  await service.stop();
}
