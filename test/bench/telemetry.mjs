import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { program } from 'commander';
import { freePort, pinToLoadCore, runLoad } from './machine.mjs';
import { startCluster } from './postgres.cluster.mjs';
import { startServer } from './server.process.mjs';
import { table } from './text.table.mjs';

const { rounds } = program
  .name('npm run bench:telemetry --')
  .description('Measures what tracing and metrics cost: blocking SendMessage, per CPU second of the service.')
  .option('--rounds <n>', 'rounds, of which the medians count', Number, 3)
  .parse()
  .opts();

/** Takes what is exported and forgets it, on the load's core. */
const sink = createServer((request, response) => request.resume().on('end', () => response.end()));
await new Promise((resolve) => sink.listen(0, '127.0.0.1', resolve));
const traces = (share, more = {}) => ({
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `http://127.0.0.1:${sink.address().port}/v1/traces`,
  OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
  OTEL_TRACES_SAMPLER_ARG: share,
  ...more,
});
const VARIANTS = {
  off: {},
  'metrics for Prometheus': { PARLEY_METRICS_PORT: 0 },
  'traces, 10 %': traces(0.1),
  'traces, 100 %': traces(1),
  'traces, 10 %, stock instrumentations': traces(0.1, { PARLEY_TRACING_STOCK: true }),
  'traces, 100 %, stock instrumentations': traces(1, { PARLEY_TRACING_STOCK: true }),
};

/** What may be left of the rate without telemetry. */
const GOALS = { 'traces, 10 %': 0.95 };

async function measure(cluster, dir, settings) {
  const [httpPort, grpcPort] = [await freePort(), await freePort()];
  const databaseUrl = await cluster.createDatabase();
  const server = startServer([fileURLToPath(new URL('../../dist/main.js', import.meta.url))], {
    dir,
    settings: {
      PARLEY_HTTP_PORT: httpPort,
      PARLEY_GRPC_PORT: grpcPort,
      PARLEY_DATA_DIR: join(dir, 'parley'),
      PARLEY_DATABASE_URL: databaseUrl,
      PARLEY_AGENTS: 'echo',
      ...settings,
    },
  });
  const url = `http://127.0.0.1:${httpPort}`;
  await server.until(async () => (await fetch(`${url}/health/ready`)).ok);
  try {
    const load = { kind: 'send', url: `${url}/jsonrpc`, version: '1.0', lanes: 32, serverPid: server.pid };
    return (await runLoad({ ...load, warmMs: 3_000, timedMs: 5_000 })).perCpuSecond;
  } finally {
    await server.stop();
    await cluster.dropDatabase(databaseUrl);
  }
}

const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];

pinToLoadCore();
const dir = mkdtempSync(join(tmpdir(), 'parley-bench-'));
// On a root account Postgres runs as another user, who must get to its folder.
chmodSync(dir, 0o755);
const cluster = await startCluster({ dir });
const figures = Object.fromEntries(Object.keys(VARIANTS).map((name) => [name, []]));
try {
  for (let round = 1; round <= rounds; round += 1) {
    for (const [name, settings] of Object.entries(VARIANTS)) {
      const figure = await measure(cluster, dir, settings);
      process.stderr.write(`round ${round}: ${name}, ${Math.round(figure)} sends per CPU second\n`);
      figures[name].push(figure);
    }
  }
} finally {
  await cluster.stop();
  sink.close();
}
const off = median(figures.off);
const rows = Object.entries(figures).map(([name, values]) => {
  const value = median(values);
  const goal = GOALS[name];
  const verdict = goal && `>= ${goal} x: ${value / off >= goal ? 'met' : 'MISSED'}`;
  return [name, Math.round(value).toLocaleString('en'), `${(value / off).toFixed(2)} x`, verdict ?? ''];
});
console.log(table([['Telemetry', 'sends per CPU second', 'to off', 'goal'], ...rows]));
rmSync(dir, { recursive: true, force: true });
