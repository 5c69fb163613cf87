import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startIssuer } from './bench.issuer.mjs';
import { freePort } from './machine.mjs';
import { startServer } from './server.process.mjs';

const run = promisify(execFile);
const at = (path) => fileURLToPath(new URL(path, import.meta.url));

/**
 * A server that runs: `url` serves JSON-RPC, `stop` resolves when it has gone.
 * `credentials` are headers that it accepts.
 * @typedef {{pid: number, url?: string, grpcAddress?: string, stop: () => Promise<void>,
 *   credentials?: Record<'rs256' | 'es256' | 'key', Record<string, string>>}} Subject
 */

/**
 * What is measured, in the order of the table. `start` gets a folder for its files, an empty database of its
 * own, node's extra flags, and the size of the service's GetTask reply for the raw server.
 * @type {Record<string, {title: string, database?: boolean,
 *   start: (given: {dir: string, databaseUrl?: string, nodeArgs: string[], replyBytes: number}) =>
 *   Promise<Subject>}>}
 */
export const SUBJECTS = {
  parley: { title: 'Parley (durable)', database: true, start: startParley },
  parleyKnown: { title: 'Parley, callers known', database: true, start: startParleyKnown },
  sdkMemory: { title: 'SDK in memory', start: startSdk },
  sdkPostgres: { title: 'SDK on Postgres', database: true, start: startSdk },
  raw: { title: 'grpc-js alone', start: startRaw },
};

async function startParley({ dir, databaseUrl, nodeArgs, identity = {} }) {
  const [httpPort, grpcPort] = [await freePort(), await freePort()];
  const settings = {
    PARLEY_HTTP_PORT: httpPort,
    PARLEY_GRPC_PORT: grpcPort,
    PARLEY_DATA_DIR: join(dir, 'parley'),
    PARLEY_DATABASE_URL: databaseUrl,
    PARLEY_AGENTS: 'echo',
    ...identity,
  };
  const server = startServer([...nodeArgs, at('../../dist/main.js')], { dir, settings });
  const url = `http://127.0.0.1:${httpPort}`;
  await server.until(async () => (await fetch(`${url}/health/ready`)).ok);
  return { ...server, url: `${url}/jsonrpc`, grpcAddress: `127.0.0.1:${grpcPort}` };
}

/** The same, where every call needs a credential. */
async function startParleyKnown(given) {
  const issuer = await startIssuer();
  const operator = randomUUID();
  const identity = { ...issuer.settings, PARLEY_API_KEYS: true, PARLEY_OPERATOR_TOKEN: operator };
  const server = await startParley({ ...given, identity });
  const bearer = async (alg) => ({ authorization: `Bearer ${await issuer.token(alg)}` });
  const made = await fetch(new URL('/operator/keys', server.url), {
    method: 'POST',
    headers: { authorization: `Bearer ${operator}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'bench', organisation: 'bench', scopes: ['a2a.send', 'a2a.read'] }),
  });
  const { key } = await made.json();
  return {
    ...server,
    credentials: { rs256: await bearer('RS256'), es256: await bearer('ES256'), key: { 'x-api-key': key } },
    stop: async () => {
      await server.stop();
      issuer.stop();
    },
  };
}

async function startSdk({ dir, databaseUrl }) {
  const port = await freePort();
  if (databaseUrl) {
    const migrate = at('../../node_modules/@a2a-js/sdk/dist/cli/a2a_db.js');
    await run(process.execPath, [migrate, 'upgrade', '--url', databaseUrl]);
  }
  const args = [at('./servers/sdk.server.mjs'), String(port), ...(databaseUrl ? [databaseUrl] : [])];
  const server = startServer(args, { dir });
  const url = `http://127.0.0.1:${port}`;
  await server.until(async () => (await fetch(`${url}/health/ready`)).ok);
  return { ...server, url: `${url}/jsonrpc` };
}

async function startRaw({ dir, replyBytes }) {
  const port = await freePort();
  const server = startServer([at('./servers/raw.server.mjs'), String(port), String(replyBytes)], { dir });
  await server.until(() => connects(port));
  return { ...server, grpcAddress: `127.0.0.1:${port}` };
}

function connects(port) {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('error', reject);
    socket.once('connect', () => resolve(socket.end()));
  });
}
