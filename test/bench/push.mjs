import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { program } from 'commander';
import { hotTable, hottest, readProfile } from './cpu.profile.mjs';
import { cpuSeconds, familyCpuSeconds, freePort, pinToLoadCore, runLoad } from './machine.mjs';
import { startCluster } from './postgres.cluster.mjs';
import { quantile } from './quantile.mjs';
import { startServer } from './server.process.mjs';
import { table } from './text.table.mjs';

const { rounds, profile } = program
  .name('npm run bench:push --')
  .description(
    'Measures what push costs the tasks: blocking SendMessage with a webhook and without, in slices of two seconds\n' +
      'that take turns on one service; each is compared with its neighbour. A slice lasts until its last push is in.',
  )
  .option('--rounds <n>', 'pairs of slices, of which the medians count', Number, 8)
  .option('--profile', "where the service's CPU time goes while it pushes", false)
  .parse()
  .opts();

/** The task, its artifact, its end. */
const PUSHES = 3;
/** What is left of the tasks. */
const GOAL = 0.7;
const SLICE_MS = 2_000;
const WARM_MS = 10_000;
const SECRET = Buffer.alloc(32, 1).toString('base64');

/**
 * Takes what is pushed, with as little work as can be: it shares its core with the load and Postgres, which the receivers
 * of real pushes do not.
 */
let taken = 0;
const receiver = createServer((socket) => {
  let text = '';
  socket.setEncoding('latin1').on('data', (chunk) => {
    text += chunk;
    const head = text.indexOf('\r\n\r\n') + 4;
    const [, length] = /content-length: (\d+)/i.exec(text) ?? [];
    if (head < 4 || text.length < head + Number(length)) return;
    text = '';
    taken += 1;
    socket.write('HTTP/1.1 204 No Content\r\n\r\n');
  });
});
await new Promise((resolve) => receiver.listen(0, '127.0.0.1', resolve));
const webhook = { taskPushNotificationConfig: { url: `http://127.0.0.1:${receiver.address().port}/` } };

async function start(cluster) {
  const [httpPort, grpcPort] = [await freePort(), await freePort()];
  const settings = {
    PARLEY_HTTP_PORT: httpPort,
    PARLEY_GRPC_PORT: grpcPort,
    PARLEY_DATA_DIR: join(dir, 'parley'),
    PARLEY_DATABASE_URL: await cluster.createDatabase(),
    PARLEY_AGENTS: 'echo',
    PARLEY_PUSH_SECRETS: `whsec_${SECRET}`,
    PARLEY_PUSH_KEYS: `bench=${SECRET}`,
    PARLEY_PUSH_ALLOW: '127.0.0.1',
  };
  const nodeArgs = profile ? ['--cpu-prof', `--cpu-prof-dir=${join(dir, 'profile')}`] : [];
  const server = startServer([...nodeArgs, fileURLToPath(new URL('../../dist/main.js', import.meta.url))], {
    dir,
    settings,
  });
  const url = `http://127.0.0.1:${httpPort}`;
  await server.until(async () => (await fetch(`${url}/health/ready`)).ok);
  return { url, ...server };
}

/**
 * Tasks per second until their last push is in: of the clock, of the service's CPU, of Postgres's. The window is the
 * load's, in microseconds of the monotonic clock, for the profile.
 */
async function slice({ url, pid }, cluster, configuration, timedMs = SLICE_MS) {
  taken = 0;
  const [service, postgres] = [cpuSeconds(pid), familyCpuSeconds(cluster.pid)];
  const load = {
    kind: 'send',
    url: `${url}/jsonrpc`,
    version: '1.0',
    lanes: 16,
    serverPid: pid,
    configuration,
  };
  const { count, from, to } = await runLoad({ ...load, warmMs: 0, timedMs });
  while (configuration && taken < count * PUSHES) await new Promise((resolve) => setTimeout(resolve, 5));
  const ended = configuration ? Number(process.hrtime.bigint() / 1000n) : to;
  return {
    clock: (count / (ended - from)) * 1e6,
    service: count / (cpuSeconds(pid) - service),
    postgres: count / (familyCpuSeconds(cluster.pid) - postgres),
    window: { from, to },
  };
}

pinToLoadCore();
const dir = mkdtempSync(join(tmpdir(), 'parley-bench-'));
// On a root account Postgres runs as another user, who must get to its folder.
chmodSync(dir, 0o755);
const cluster = await startCluster({ dir });
const server = await start(cluster);
const pairs = [];
try {
  for (const configuration of [undefined, webhook]) await slice(server, cluster, configuration, WARM_MS);
  for (let round = 1; round <= rounds; round += 1) {
    // Whoever comes first in one round comes last in the next.
    const turns = round % 2 ? [undefined, webhook] : [webhook, undefined];
    const first = await slice(server, cluster, turns[0]);
    const second = await slice(server, cluster, turns[1]);
    pairs.push(turns[0] ? { pushing: first, bare: second } : { pushing: second, bare: first });
    const tell = ({ clock, service }) => `${Math.round(clock)}/s, ${Math.round(service)} per CPU second`;
    process.stderr.write(`round ${round}: ${tell(pairs.at(-1).bare)}; push ${tell(pairs.at(-1).pushing)}\n`);
  }
} finally {
  await server.stop();
  await cluster.stop();
  receiver.close();
}
const rows = [
  ['per second', 'clock', GOAL],
  ['per CPU second of the service', 'service'],
  ['per CPU second of Postgres', 'postgres'],
].map(([name, figure, goal]) => {
  const ratios = pairs.map(({ bare, pushing }) => pushing[figure] / bare[figure]);
  const [low, middle, high] = [0.25, 0.5, 0.75].map((share) => quantile(ratios, share));
  const rate = (kind) =>
    String(
      Math.round(
        quantile(
          pairs.map((pair) => pair[kind][figure]),
          0.5,
        ),
      ),
    );
  const verdict = goal ? `>= ${goal} x: ${middle >= goal ? 'met' : 'MISSED'}` : '';
  return [
    name,
    rate('bare'),
    rate('pushing'),
    `${middle.toFixed(2)} x`,
    `${low.toFixed(2)} to ${high.toFixed(2)}`,
    verdict,
  ];
});
console.log(table([['Tasks', 'without push', 'with push', 'ratio', 'half of the rounds', 'goal'], ...rows]));
if (profile)
  console.log(`\n${hotTable(hottest(readProfile(join(dir, 'profile')), pairs.at(-1).pushing.window))}`);
rmSync(dir, { recursive: true, force: true });
