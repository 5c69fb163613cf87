// @ts-check
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../../dist/main.js', import.meta.url));
const START_MS = 60_000;

/**
 * The built service as a process of its own, on free ports and with a data folder that goes when it stops.
 *
 * @typedef {object} DemoService
 * @property {string} url base URL of HTTP
 * @property {string} grpc `host:port` of gRPC
 * @property {string} folder where its data lies
 * @property {string} operatorToken
 * @property {() => string} log all that it printed
 * @property {() => Promise<void>} stop
 */

/** @returns {Promise<DemoService>} once it is ready; rejects with its output when it cannot start */
export async function startService() {
  const folder = await mkdtemp(join(tmpdir(), 'parley-demo-'));
  await chmod(folder, 0o755); // Started by root, Postgres runs as another user, who has to get through.
  const [http, grpc] = await freePorts(2);
  const operatorToken = 'demo-operator';
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('PARLEY_'));
  const child = spawn(process.execPath, [MAIN], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...Object.fromEntries(inherited),
      PARLEY_HTTP_PORT: String(http),
      PARLEY_GRPC_PORT: String(grpc),
      PARLEY_DATA_DIR: folder,
      PARLEY_OPERATOR_TOKEN: operatorToken,
    },
  });
  let log = '';
  for (const output of [child.stdout, child.stderr]) output.on('data', (text) => (log += text));
  const end = async () => {
    if (child.exitCode === null && child.signalCode === null && child.kill()) await once(child, 'exit');
    await rm(folder, { recursive: true, force: true });
  };
  /** @type {Promise<void> | undefined} */
  let stopped;
  // Once: a second signal would tell the service to go without stopping its database.
  const stop = () => (stopped ??= end());
  const url = `http://127.0.0.1:${http}`;
  const until = Date.now() + START_MS;
  while (!(await isReady(url))) {
    if (child.exitCode !== null || child.signalCode !== null || Date.now() > until) {
      await stop();
      throw new Error(`The service did not start:\n${log}`);
    }
    await delay(50);
  }
  return { url, grpc: `127.0.0.1:${grpc}`, folder, operatorToken, log: () => log, stop };
}

/** @param {string} url */
async function isReady(url) {
  const response = await fetch(`${url}/health/ready`).catch(() => undefined);
  await response?.arrayBuffer();
  return response?.ok ?? false;
}

/** @param {number} count */
async function freePorts(count) {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map(
    (server) => /** @type {import('node:net').AddressInfo} */ (server.address()).port,
  );
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}
