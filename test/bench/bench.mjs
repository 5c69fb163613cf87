import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Option, program } from 'commander';
import { CASES } from './bench.cases.mjs';
import { conditions, Figures, rateTable, verdicts, verdictTable } from './bench.report.mjs';
import { SUBJECTS } from './bench.subjects.mjs';
import { hotTable, hottest, readProfile } from './cpu.profile.mjs';
import { describeMachine, pinToLoadCore } from './machine.mjs';
import { startCluster } from './postgres.cluster.mjs';

const options = program
  .name('npm run bench --')
  .description(
    'Measures the service beside the servers of @a2a-js/sdk and plain grpc-js, as ratios of one run.',
  )
  .addOption(new Option('--only <case>', 'one case, or all whose names begin so').argParser(parseOnly))
  .option('--rounds <n>', 'rounds, of which the medians count (default 3, with --quick 1)', Number)
  .option('--quick', 'one short round: a look, not a verdict', false)
  .option('--profile', 'only the service, and where its CPU time goes', false)
  .option('--json <file>', 'also write all figures to this file')
  .option('--database-url <url>', 'a Postgres to use in place of an embedded one; may create databases')
  .addHelpText('after', `\nCases: ${CASES.map(({ name }) => name).join(', ')}`)
  .parse()
  .opts();

function parseOnly(prefix) {
  const found = CASES.filter(({ name }) => name.startsWith(prefix));
  if (found.length === 0) program.error(`no case begins with ${prefix}`);
  return found;
}

/**
 * One subject's part of a round: a fresh process and database, all its cases, then gone.
 * @returns {Promise<number>} the size of its GetTask reply, or what was given
 */
async function runSubject({ name, round, cases, cluster, dir, figures, replyBytes }) {
  const subject = SUBJECTS[name];
  const databaseUrl = subject.database ? await cluster.createDatabase() : undefined;
  const nodeArgs = options.profile ? ['--cpu-prof', `--cpu-prof-dir=${join(dir, 'profile')}`] : [];
  const running = await subject.start({ dir, databaseUrl, nodeArgs, replyBytes });
  let bytes = replyBytes;
  try {
    for (const { name: caseName, title, measure } of cases) {
      process.stderr.write(`round ${round}: ${subject.title}, ${title}\n`);
      await cluster.settle();
      const measured = await measure(running, options.quick);
      figures.add(round, caseName, name, measured);
      bytes = measured.replyBytes ?? bytes;
    }
  } finally {
    await running.stop();
    if (databaseUrl) await cluster.dropDatabase(databaseUrl);
  }
  return bytes;
}

async function runRounds(cluster, dir) {
  const rounds = options.rounds ?? (options.quick || options.profile ? 1 : 3);
  const cases = options.only ?? CASES;
  const names = options.profile ? ['parley'] : Object.keys(SUBJECTS);
  const figures = new Figures();
  let replyBytes = 700;
  for (let round = 1; round <= rounds; round += 1) {
    for (const name of names) {
      const own = cases.filter(({ subjects }) => subjects.includes(name));
      if (own.length === 0) continue;
      replyBytes = await runSubject({ name, round, cases: own, cluster, dir, figures, replyBytes });
    }
  }
  return figures;
}

function reportProfile(figures, dir) {
  const profile = readProfile(join(dir, 'profile'));
  return figures.entries.map((entry) => {
    const hot = hottest(profile, entry.figures);
    const { title } = CASES.find(({ name }) => name === entry.case);
    console.log(`\n${title}\n\n${hotTable(hot)}`);
    return { case: entry.case, ...hot };
  });
}

/** Runs everything and prints it; resolves with what `--json` writes. */
async function measureAll(cluster, dir) {
  const machine = describeMachine();
  const commitMs = await cluster.commitMs();
  const figures = await runRounds(cluster, dir);
  console.log(`\n${conditions(figures, { machine, commitMs })}\n\n${rateTable(figures)}`);
  const run = { machine, commitMs, quick: options.quick, rounds: figures.entries };
  if (options.profile) return { ...run, profile: reportProfile(figures, dir) };
  console.log(`\n${verdictTable(figures)}`);
  return { ...run, goals: verdicts(figures) };
}

// Ctrl-C reaches the server and the load too: the run fails and cleans up. The second one ends it at once.
process.once('SIGINT', () => undefined);
pinToLoadCore();
const dir = mkdtempSync(join(tmpdir(), 'parley-bench-'));
// On a root account Postgres runs as another user, who must get to its folder.
chmodSync(dir, 0o755);
const cluster = await startCluster({ dir, url: options.databaseUrl });
try {
  const run = await measureAll(cluster, dir);
  if (options.json) writeFileSync(options.json, `${JSON.stringify(run, null, 2)}\n`);
} finally {
  await cluster.stop();
}
// Kept after a fault, since the servers' logs are in it.
rmSync(dir, { recursive: true, force: true });
