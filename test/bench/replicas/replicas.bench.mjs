import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Option, program } from 'commander';
import { Replica } from '../../chaos/replica.mjs';
import { describeMachine } from '../machine.mjs';
import { MEASURED } from '../memory.mjs';
import { startCluster } from '../postgres.cluster.mjs';
import { table } from '../text.table.mjs';
import { idleStreams } from './idle.streams.mjs';
import { latency } from './latency.mjs';
import { startNats } from './nats.server.mjs';
import { takeover } from './takeover.mjs';
import { throughput } from './throughput.mjs';

/**
 * A case gets two replicas over one database, and gives rows of its table. It is measured once for each kind of
 * hints between replicas that makes a difference to it.
 * @typedef {{replicas: import('../../chaos/replica.mjs').Replica[], databaseUrl: string, memoryFiles: string[],
 *   quick: boolean}} Pair
 * @type {Record<string, {title: string, measure: (pair: Pair) => Promise<[string, string][]>, nats?: boolean}>}
 */
const CASES = {
  takeover: { title: 'A turn goes on elsewhere after kill -9 of its replica', measure: takeover },
  latency: { title: 'From the insert of an event to its reader', measure: latency, nats: true },
  idle: { title: 'Idle streams', measure: idleStreams },
  throughput: { title: 'Blocking SendMessage', measure: throughput },
};

const options = program
  .name('npm run bench:replicas --')
  .description('Measures two replicas over one Postgres.')
  .addOption(new Option('--only <case>', 'one case').choices(Object.keys(CASES)))
  .option('--events <url>', 'NATS server to use in place of one of its own')
  .option('--quick', 'a look, not a verdict', false)
  .option('--json <file>', 'also write the figures to this file')
  .parse()
  .opts();

const client = { headers: {}, timeoutMs: 60_000, silenceMs: 60_000 };

async function measure({ cluster, dir, name, eventsUrl }) {
  const databaseUrl = await cluster.createDatabase();
  const settings = {
    PARLEY_DATABASE_URL: databaseUrl,
    PARLEY_AGENTS: 'echo',
    PARLEY_LOG_FORMAT: 'json',
    ...(eventsUrl ? { PARLEY_EVENTS_URL: eventsUrl } : {}),
  };
  const memoryFiles = ['a', 'b'].map((letter) => join(dir, `memory-${letter}`));
  const replicas = ['a', 'b'].map((letter, index) => {
    const own = { ...settings, PARLEY_DATA_DIR: join(dir, letter), MEMORY_FILE: memoryFiles[index] };
    return new Replica({ name: `replica-${letter}`, dir, settings: own, client, node: MEASURED });
  });
  try {
    for (const replica of replicas) await replica.launch();
    return await CASES[name].measure({ replicas, databaseUrl, memoryFiles, quick: options.quick });
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
const nats = options.events ? { url: options.events, stop: async () => undefined } : await startNats();
const results = {};

async function tell(name, hints, eventsUrl) {
  const title = hints ? `${CASES[name].title}, hints by ${hints}` : CASES[name].title;
  const rows = await measure({ cluster, dir, name, eventsUrl });
  results[title] = rows;
  console.log(`\n${table([[title, ''], ...rows])}`);
}

try {
  const { cpu, cores, node } = describeMachine();
  console.log(`${cpu}, ${cores} cores for replicas, load and Postgres; node ${node}`);
  for (const name of options.only ? [options.only] : Object.keys(CASES)) {
    const both = CASES[name].nats;
    await tell(name, both && 'LISTEN/NOTIFY');
    if (both && nats) await tell(name, 'NATS', nats.url);
    else if (both) console.log('\nWith NATS: skipped, nats-server is not installed');
  }
} finally {
  await nats?.stop();
  await cluster.stop();
}
if (options.json) writeFileSync(options.json, `${JSON.stringify(results, null, 2)}\n`);
rmSync(dir, { recursive: true, force: true });
process.exit(0);
