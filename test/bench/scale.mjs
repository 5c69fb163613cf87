import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Option, program } from 'commander';
import { startCluster } from './postgres.cluster.mjs';
import { coldStart } from './scale/cold.start.mjs';
import { idleStreams } from './scale/idle.streams.mjs';
import { manyTasks } from './scale/many.tasks.mjs';
import { soak } from './scale/soak.mjs';

const PARTS = {
  start: (place) => coldStart(place),
  soak: (place) => soak(place, options.soak),
  streams: (place) => idleStreams(place, options.streams),
  tasks: (_, cluster) => manyTasks(cluster, options),
};

const options = program
  .name('npm run bench:scale --')
  .description(
    'Measures a cold start, memory under load, what idle streams cost, and many tasks beside a thousand.',
  )
  .addOption(new Option('--only <part>', 'one part').choices(Object.keys(PARTS)))
  .option('--tasks <n>', 'tasks in the large database', Number, 1_000_000)
  .option(
    '--streams <n>',
    'idle streams on one replica; the open files of a process limit them',
    Number,
    10_000,
  )
  .option('--repeats <n>', 'of each operation, of which the median counts', Number, 300)
  .option('--soak <seconds>', 'how long there is load for the memory', Number, 120)
  .parse()
  .opts();

const dir = mkdtempSync(join(tmpdir(), 'parley-bench-'));
// On a root account Postgres runs as another user, who must get to its folder.
chmodSync(dir, 0o755);
const cluster = await startCluster({ dir });
try {
  for (const name of options.only ? [options.only] : Object.keys(PARTS)) {
    const databaseUrl = await cluster.createDatabase();
    console.log(`${await PARTS[name]({ dir, databaseUrl }, cluster)}\n`);
    await cluster.dropDatabase(databaseUrl);
  }
} finally {
  await cluster.stop();
}
rmSync(dir, { recursive: true, force: true });
