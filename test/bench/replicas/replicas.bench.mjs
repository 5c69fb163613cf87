import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Option, program } from 'commander';
import { Replica } from '../../chaos/replica.mjs';
import { describeMachine } from '../machine.mjs';
import { startCluster } from '../postgres.cluster.mjs';
import { table } from '../text.table.mjs';
import { idleStreams } from './idle.streams.mjs';
import { latency } from './latency.mjs';
import { takeover } from './takeover.mjs';
import { throughput } from './throughput.mjs';

/**
 * A case gets two replicas over one database, and gives rows of its table.
 * @typedef {{replicas: import('../../chaos/replica.mjs').Replica[], databaseUrl: string, quick: boolean}} Pair
 * @type {Record<string, {title: string, measure: (pair: Pair) => Promise<[string, string][]>}>}
 */
const CASES = {
  takeover: { title: 'A turn goes on elsewhere after kill -9 of its replica', measure: takeover },
  latency: { title: 'From the insert of an event to its reader', measure: latency },
  idle: { title: 'Idle streams', measure: idleStreams },
  throughput: { title: 'Blocking SendMessage', measure: throughput },
};

const options = program
  .name('npm run bench:replicas --')
  .description('Measures two replicas over one Postgres.')
  .addOption(new Option('--only <case>', 'one case').choices(Object.keys(CASES)))
  .option('--events <url>', 'NATS server for hints (PARLEY_EVENTS_URL); else LISTEN/NOTIFY')
  .option('--quick', 'a look, not a verdict', false)
  .option('--json <file>', 'also write the figures to this file')
  .parse()
  .opts();

const client = { headers: {}, timeoutMs: 60_000, silenceMs: 60_000 };

async function measure(cluster, dir, name) {
  const databaseUrl = await cluster.createDatabase();
  const settings = {
    PARLEY_DATABASE_URL: databaseUrl,
    PARLEY_AGENTS: 'echo',
    PARLEY_LOG_FORMAT: 'json',
    ...(options.events ? { PARLEY_EVENTS_URL: options.events } : {}),
  };
  const replicas = ['a', 'b'].map((letter) => {
    const own = { ...settings, PARLEY_DATA_DIR: join(dir, letter) };
    return new Replica({ name: `replica-${letter}`, dir, settings: own, client });
  });
  try {
    for (const replica of replicas) await replica.launch();
    return await CASES[name].measure({ replicas, databaseUrl, quick: options.quick });
  } finally {
    await Promise.all(replicas.map((replica) => replica.retire()));
    await cluster.dropDatabase(databaseUrl);
  }
}

// Ctrl-C reaches the replicas too: the case fails and cleans up. The second one ends it at once.
process.once('SIGINT', () => undefined);
const dir = mkdtempSync(join(tmpdir(), 'parley-replicas-'));
// On a root account Postgres runs as another user, who must get to its folder.
chmodSync(dir, 0o755);
const cluster = await startCluster({ dir });
const results = {};
try {
  const { cpu, cores, node } = describeMachine();
  const hints = options.events ? 'NATS' : 'LISTEN/NOTIFY';
  console.log(`${cpu}, ${cores} cores for replicas, load and Postgres; node ${node}; hints by ${hints}`);
  for (const name of options.only ? [options.only] : Object.keys(CASES)) {
    results[name] = await measure(cluster, dir, name);
    console.log(`\n${table([[CASES[name].title, ''], ...results[name]])}`);
  }
} finally {
  await cluster.stop();
}
if (options.json) writeFileSync(options.json, `${JSON.stringify(results, null, 2)}\n`);
rmSync(dir, { recursive: true, force: true });
process.exit(0);
