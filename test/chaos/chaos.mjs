import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { program } from 'commander';
import { EXTENSION_URIS } from '../../dist/protocol/index.js';
import { startCluster } from '../bench/postgres.cluster.mjs';
import { Audit } from './audit.mjs';
import { callersOf } from './callers/caller.mjs';
import { Faults } from './chaos.faults.mjs';
import { auditTable, faultTable, figureLines, operationTable, spread, takeovers } from './chaos.report.mjs';
import { Fleet } from './fleet.mjs';
import { Journal } from './journal.mjs';
import { LoadLane } from './load.lane.mjs';
import { Replica } from './replica.mjs';
import { SeededRandom } from './seeded.random.mjs';

const options = program
  .name('npm run chaos --')
  .description(
    'Puts load on replicas, kills, stops, pauses and restarts them and their Postgres, and then holds the ' +
      'database to what the clients were told. Ends with 1 when anything was lost, doubled, stuck or changed.',
  )
  .option('--seconds <n>', 'how long there is load and harm', Number, 60)
  .option('--replicas <n>', 'replicas to start', Number, 3)
  .option('--seed <n>', 'makes the same choices again', Number, Date.now() % 1_000_000)
  .option('--lanes <n>', 'clients at once', Number, 16)
  .option('--fault-ms <n>', 'mean time between two faults', Number, 2_000)
  .option('--lease-ms <n>', 'lease of a turn (PARLEY_LEASE_MS)', Number, 3_000)
  .option('--target <url...>', 'replicas of a running deployment, which are not harmed; needs --database-url')
  .option('--database-url <url>', 'Postgres to use, which is then not restarted')
  .option('--token <token>', 'bearer token for --target')
  .option('--json <file>', 'also write all figures and findings to this file')
  .option('--keep', "keep the replicas' logs in any case", false)
  .parse()
  .opts();
if (options.target && !options.databaseUrl) program.error('--target needs --database-url for the audit');

const DRAIN_MS = 5_000;
/** Draining, closing, and a machine that is busy with other replicas. */
const STOP_MS = DRAIN_MS + 15_000;
/** The agent "echo" runs a turn again so often after its replica died. */
const MAX_ATTEMPTS = 4;
const started = performance.now();
const say = (text) =>
  process.stderr.write(`${((performance.now() - started) / 1000).toFixed(1).padStart(6)} s  ${text}\n`);

/**
 * A client lists every extension, as only then it is shown all of the log. What it may wait for without a sign: a
 * paused replica keeps its connections.
 */
const client = {
  headers: {
    'a2a-extensions': Object.values(EXTENSION_URIS).join(', '),
    ...(options.token && { authorization: `Bearer ${options.token}` }),
  },
  timeoutMs: options.leaseMs * 3 + 5_000,
  silenceMs: options.leaseMs * 3,
};

/** The replicas of a deployment, left in peace. */
async function findTargets() {
  return Promise.all(
    options.target.map(async (url) => ({ name: url, open: true, callers: await callersOf(url, client) })),
  );
}

function makeReplicas(dir, databaseUrl) {
  const settings = {
    PARLEY_DATABASE_URL: databaseUrl,
    PARLEY_AGENTS: 'echo',
    PARLEY_LEASE_MS: options.leaseMs,
    PARLEY_DRAIN_MS: DRAIN_MS,
    PARLEY_LOG_FORMAT: 'json',
  };
  return Array.from({ length: options.replicas }, (_, index) => {
    const name = `replica-${index + 1}`;
    return new Replica({ name, dir, settings: { ...settings, PARLEY_DATA_DIR: join(dir, name) }, client });
  });
}

/** Load and harm for the given time, then peace; resolves when the last client has its answer. */
async function play({ replicas, faults }) {
  const end = performance.now() + options.seconds * 1_000;
  const fleet = new Fleet(replicas);
  const journal = new Journal();
  const run = `chaos-${Date.now().toString(36)}`;
  const lanes = Array.from({ length: options.lanes }, (_, index) => {
    const random = new SeededRandom(options.seed * 1_000 + index + 1);
    return new LoadLane({ name: `${run}-${index}`, random, fleet, journal });
  });
  await Promise.all([faults?.run(end), ...lanes.map((lane) => lane.run(end))]);
  return journal;
}

async function auditRun({ journal, replicas, databaseUrl, alone }) {
  say('load is over; waiting for the last turns');
  const audit = new Audit({ databaseUrl, journal, alone, maxAttempts: MAX_ATTEMPTS });
  await audit.settle(options.leaseMs * 3 + 30_000);
  say('auditing');
  await audit.run(replicas.flatMap(({ callers }) => callers));
  return audit;
}

function report({ journal, faults, audit, accidents }) {
  const title = `seed ${options.seed}, ${options.seconds} s, ${options.lanes} clients`;
  const parts = [
    title,
    operationTable(journal),
    faults && faultTable(faults, audit),
    figureLines(audit, journal),
    auditTable(audit),
  ];
  console.log(`\n${parts.filter(Boolean).join('\n\n')}`);
  for (const accident of accidents) console.log(`  accident: ${accident}`);
  if (audit.evidence.length > 0) {
    writeFileSync(join(dir, 'streams.json'), `${JSON.stringify(audit.evidence, null, 2)}\n`);
  }
  if (options.json) {
    const { figures, findings } = audit;
    const times = Object.entries(takeovers(faults?.done ?? [], figures.pauses));
    const moved = Object.fromEntries(
      times.map(([fault, ms]) => [fault, { count: ms.length, ...spread(ms) }]),
    );
    const run = {
      options,
      faults: faults?.counts,
      figures: { ...figures, pauses: figures.pauses.length, takeovers: moved },
      findings,
      accidents,
    };
    writeFileSync(options.json, `${JSON.stringify(run, null, 2)}\n`);
  }
}

async function chaosOnTargets() {
  const replicas = await findTargets();
  const journal = await play({ replicas });
  const audit = await auditRun({ journal, replicas, databaseUrl: options.databaseUrl, alone: false });
  report({ journal, audit, accidents: [] });
  for (const caller of replicas.flatMap(({ callers }) => callers)) caller.close();
  return audit.passed;
}

async function chaosOnReplicas(dir) {
  const cluster = await startCluster({ dir, url: options.databaseUrl });
  const databaseUrl = await cluster.createDatabase();
  const replicas = makeReplicas(dir, databaseUrl);
  const clean = async () => {
    await Promise.all(replicas.map((replica) => replica.retire()));
    await cluster.dropDatabase(databaseUrl).catch(() => undefined);
    await cluster.stop();
  };
  // Neither replicas nor a Postgres stay behind when somebody has seen enough.
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.once(signal, () => clean().finally(() => process.exit(130)));
  }
  try {
    // One after the other: the first one lays the tables.
    for (const replica of replicas) await replica.launch();
    say(`${replicas.length} replicas are up, logs in ${dir}`);
    const faults = new Faults({
      random: new SeededRandom(options.seed),
      replicas,
      restartPostgres: options.databaseUrl ? undefined : (mode) => cluster.restart(mode),
      leaseMs: options.leaseMs,
      everyMs: options.faultMs,
      stopMs: STOP_MS,
      say,
    });
    const journal = await play({ replicas, faults });
    const audit = await auditRun({ journal, replicas, databaseUrl, alone: true });
    await Promise.all(replicas.map((replica) => replica.stop(STOP_MS)));
    const accidents = replicas.flatMap((replica) => replica.accidents);
    report({ journal, faults, audit, accidents });
    return audit.passed && accidents.length === 0;
  } finally {
    await clean();
  }
}

const dir = mkdtempSync(join(tmpdir(), 'parley-chaos-'));
// On a root account Postgres runs as another user, who must get to its folder.
chmodSync(dir, 0o755);
const passed = options.target ? await chaosOnTargets() : await chaosOnReplicas(dir);
console.log(passed ? '\nPASSED' : `\nFAILED; logs in ${dir}`);
if (passed && !options.keep) rmSync(dir, { recursive: true, force: true });
process.exit(passed ? 0 : 1);
