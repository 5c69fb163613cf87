import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../machine.mjs';
import { MEASURED, memoryOf } from '../memory.mjs';
import { startServer } from '../server.process.mjs';

const MAIN = fileURLToPath(new URL('../../../dist/main.js', import.meta.url));

/**
 * Starts the service over a database and waits until it is ready.
 * @param {{dir: string, databaseUrl: string}} given
 */
export async function startService({ dir, databaseUrl }) {
  const port = await freePort();
  const memoryFile = join(dir, 'memory');
  const server = startServer([...MEASURED, MAIN], {
    dir,
    settings: {
      PARLEY_HTTP_PORT: port,
      PARLEY_GRPC_PORT: await freePort(),
      PARLEY_DATABASE_URL: databaseUrl,
      PARLEY_DATA_DIR: join(dir, 'parley'),
      PARLEY_DRAIN_MS: 0,
      MEMORY_FILE: memoryFile,
    },
  });
  const url = `http://127.0.0.1:${port}`;
  await server.until(async () => (await fetch(`${url}/health/ready`)).ok);
  return { ...server, port, url, memory: () => memoryOf(server.pid, memoryFile) };
}
