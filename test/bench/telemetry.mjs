import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { program } from 'commander';
import { freePort, pinToLoadCore, runLoad } from './machine.mjs';
import { startCluster } from './postgres.cluster.mjs';
import { quantile } from './quantile.mjs';
import { startServer } from './server.process.mjs';
import { table } from './text.table.mjs';

const { rounds, only } = program
  .name('npm run bench:telemetry --')
  .description(
    'Measures what tracing and metrics cost: blocking SendMessage, per CPU second of the service. Services with\n' +
      'each setting run side by side and take turns of a second and a half; each is compared within its round.',
  )
  .option('--rounds <n>', 'rounds, of which the medians count', Number, 12)
  .option('--only <text>', 'beside off, only settings whose name begins so', '')
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

async function start(cluster, settings, data) {
  const [httpPort, grpcPort] = [await freePort(), await freePort()];
  const server = startServer([fileURLToPath(new URL('../../dist/main.js', import.meta.url))], {
    dir,
    settings: {
      PARLEY_HTTP_PORT: httpPort,
      PARLEY_GRPC_PORT: grpcPort,
      PARLEY_DATA_DIR: data,
      PARLEY_DATABASE_URL: await cluster.createDatabase(),
      PARLEY_AGENTS: 'echo',
      ...settings,
    },
  });
  const url = `http://127.0.0.1:${httpPort}`;
  await server.until(async () => (await fetch(`${url}/health/ready`)).ok);
  return { url, server };
}

async function measure({ url, server }, times) {
  const load = { kind: 'send', url: `${url}/jsonrpc`, version: '1.0', lanes: 32, serverPid: server.pid };
  return (await runLoad({ ...load, ...times })).perCpuSecond;
}

pinToLoadCore();
const dir = mkdtempSync(join(tmpdir(), 'parley-bench-'));
// On a root account Postgres runs as another user, who must get to its folder.
chmodSync(dir, 0o755);
const cluster = await startCluster({ dir });
const names = Object.keys(VARIANTS).filter((name) => name === 'off' || name.startsWith(only));
const figures = Object.fromEntries(names.map((name) => [name, []]));
const services = {};
try {
  for (const [place, name] of names.entries())
    services[name] = await start(cluster, VARIANTS[name], join(dir, `parley-${place}`));
  for (const name of names) await measure(services[name], { warmMs: 1_000, timedMs: 8_000 });
  for (let round = 1; round <= rounds; round += 1) {
    // Whoever comes first in one round comes last in another.
    const turns = [...names.slice(round % names.length), ...names.slice(0, round % names.length)];
    for (const name of turns)
      figures[name].push(await measure(services[name], { warmMs: 300, timedMs: 1_500 }));
    process.stderr.write(
      `round ${round}: ${names.map((name) => Math.round(figures[name].at(-1))).join(', ')}\n`,
    );
  }
} finally {
  for (const { server } of Object.values(services)) await server.stop();
  await cluster.stop();
  sink.close();
}
const rows = names.map((name) => {
  const ratios = figures[name].map((figure, round) => figure / figures.off[round]);
  const [low, middle, high] = [0.25, 0.5, 0.75].map((share) => quantile(ratios, share));
  const goal = GOALS[name];
  const verdict = goal && `>= ${goal} x: ${middle >= goal ? 'met' : 'MISSED'}`;
  const rate = Math.round(quantile(figures[name], 0.5)).toLocaleString('en');
  return [name, rate, `${middle.toFixed(2)} x`, `${low.toFixed(2)} to ${high.toFixed(2)}`, verdict ?? ''];
});
console.log(table([['Telemetry', 'sends per CPU second', 'to off', 'half of the rounds', 'goal'], ...rows]));
rmSync(dir, { recursive: true, force: true });
