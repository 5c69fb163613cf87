import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { program } from 'commander';
import { freePort, pinToLoadCore, runLoad } from './machine.mjs';
import { startCluster } from './postgres.cluster.mjs';
import { startServer } from './server.process.mjs';
import { table } from './text.table.mjs';

const { rounds } = program
  .name('npm run bench:backends --')
  .description(
    'Measures what a durable task in front of an agent costs: blocking calls of the agent itself and through the service.',
  )
  .option('--rounds <n>', 'rounds, of which the medians count', Number, 3)
  .parse()
  .opts();

const LANES = [1, 16];
const at = (path) => fileURLToPath(new URL(path, import.meta.url));

/** Both agents run on the load's core, so that the service has its own. */
async function startAgents(dir) {
  const [plainPort, sdkPort] = [await freePort(), await freePort()];
  const beside = (args, options) => spawn(process.execPath, args, options);
  const agent = (file, port) =>
    startServer([at(`./servers/${file}`), String(port)], { dir, log: `${file}.log`, spawn: beside });
  const plain = agent('plain.agent.mjs', plainPort);
  const sdk = agent('sdk.server.mjs', sdkPort);
  const urls = { plain: `http://127.0.0.1:${plainPort}/`, sdk: `http://127.0.0.1:${sdkPort}` };
  await plain.until(() => fetch(urls.plain));
  await sdk.until(async () => (await fetch(`${urls.sdk}/health/ready`)).ok);
  return { plain, sdk, urls };
}

function describeAgents(dir, urls) {
  const agents = join(dir, 'agents');
  mkdirSync(agents);
  const file = (id, backend) =>
    writeFileSync(
      join(agents, `${id}.yaml`),
      `id: ${id}\nname: ${id}\ndescription: Measured\nlimits: { concurrency: 64 }\nbackend: ${JSON.stringify(backend)}\n`,
    );
  file('plain', { kind: 'http', url: urls.plain });
  file('remote', { kind: 'a2a', url: urls.sdk });
  return agents;
}

async function startService(dir, databaseUrl, agents) {
  const [httpPort, grpcPort] = [await freePort(), await freePort()];
  const settings = {
    PARLEY_HTTP_PORT: httpPort,
    PARLEY_GRPC_PORT: grpcPort,
    PARLEY_DATA_DIR: join(dir, 'parley'),
    PARLEY_DATABASE_URL: databaseUrl,
    PARLEY_AGENTS_DIR: agents,
  };
  const server = startServer([at('../../dist/main.js')], { dir, settings });
  const url = `http://127.0.0.1:${httpPort}`;
  await server.until(async () => (await fetch(`${url}/health/ready`)).ok);
  return { ...server, url };
}

/** What each row calls; a row with `over` is the service in front of that one. */
function routes({ plain, sdk, urls }, service) {
  const through = (id) => ({
    kind: 'send',
    version: '1.0',
    url: `${service.url}/agents/${id}/jsonrpc`,
    serverPid: service.pid,
  });
  return [
    { title: 'http agent', load: { kind: 'post', url: urls.plain, serverPid: plain.pid } },
    { title: 'http agent through Parley', over: 'http agent', load: through('plain') },
    {
      title: 'A2A agent',
      load: { kind: 'send', version: '1.0', url: `${urls.sdk}/jsonrpc`, serverPid: sdk.pid },
    },
    { title: 'A2A agent through Parley', over: 'A2A agent', load: through('remote') },
  ];
}

async function measure(cluster, dir) {
  const agents = await startAgents(dir);
  const databaseUrl = await cluster.createDatabase();
  const service = await startService(dir, databaseUrl, describeAgents(dir, agents.urls));
  const found = new Map();
  try {
    for (let round = 1; round <= rounds; round += 1) {
      for (const { title, load } of routes(agents, service)) {
        for (const lanes of LANES) {
          const { rate, p50, p99 } = await runLoad({ ...load, lanes, warmMs: 2_000, timedMs: 4_000 });
          process.stderr.write(`round ${round}: ${title}, ${lanes} at a time: ${Math.round(rate)}/s\n`);
          const key = `${title}/${lanes}`;
          found.set(key, [...(found.get(key) ?? []), { rate, p50, p99 }]);
        }
      }
    }
  } finally {
    await service.stop();
    await Promise.all([agents.plain.stop(), agents.sdk.stop()]);
  }
  return { found, rows: routes(agents, service) };
}

function report({ found, rows }) {
  const median = (title, lanes, figure) => {
    const values = found.get(`${title}/${lanes}`).map((figures) => figures[figure]);
    return values.sort((a, b) => a - b)[values.length >> 1];
  };
  const lines = LANES.flatMap((lanes) =>
    rows.map(({ title, over }) => {
      const own = (figure) => median(title, lanes, figure);
      const added = (figure) => (over ? `+${(own(figure) - median(over, lanes, figure)).toFixed(1)}` : '');
      return [
        title,
        String(lanes),
        Math.round(own('rate')).toLocaleString('en'),
        over ? `${(own('rate') / median(over, lanes, 'rate')).toFixed(2)} x` : '',
        own('p50').toFixed(1),
        added('p50'),
        own('p99').toFixed(1),
        added('p99'),
      ];
    }),
  );
  const header = ['blocking calls', 'at a time', 'calls/s', 'ratio', 'p50 ms', 'added', 'p99 ms', 'added'];
  console.log(table([header, ...lines]));
}

pinToLoadCore();
const dir = mkdtempSync(join(tmpdir(), 'parley-bench-'));
// On a root account Postgres runs as another user, who must get to its folder.
chmodSync(dir, 0o755);
const cluster = await startCluster({ dir });
try {
  report(await measure(cluster, dir));
} finally {
  await cluster.stop();
}
rmSync(dir, { recursive: true, force: true });
