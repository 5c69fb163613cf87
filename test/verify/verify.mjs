import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Argument, program } from 'commander';
import { backendTable } from './backend.table.mjs';

/** What can be shown to hold: the tests that do it, whose short forms are part of `npm test`. */
const CLAIMS = {
  backends: [
    'test/integration/backends.spec.ts',
    'test/integration/backend.crashes.spec.ts',
    'test/integration/backend.headers.spec.ts',
    'test/e2e/agents.spec.ts',
    'test/e2e/backend.kills.spec.ts',
    'test/e2e/upstream.spec.ts',
  ],
  callers: ['test/e2e/callers.spec.ts'],
  cards: ['test/e2e/cards.witness.spec.ts'],
  push: ['test/e2e/push.spec.ts', 'test/e2e/push.speed.spec.ts'],
  restarts: ['test/e2e/proxy.spec.ts'],
  v03: ['test/e2e/v03.witness.spec.ts', 'test/e2e/v03.shared.spec.ts', 'test/e2e/v03.clients.spec.ts'],
};

const [claims] = program
  .name('npm run verify --')
  .description('Shows on the built service, in full, that it keeps what it promises.')
  .addArgument(new Argument('<claim...>').choices(Object.keys(CLAIMS)))
  .parse().processedArgs;

const vitest = fileURLToPath(new URL('../../node_modules/vitest/vitest.mjs', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'parley-verify-'));
const report = join(folder, 'report.json');
// What is measured has the machine to itself.
const alone = claims.includes('push') ? ['--no-file-parallelism'] : [];
const { status } = spawnSync(
  process.execPath,
  [
    ...[vitest, 'run', '--config', 'test/vitest.config.ts', '--reporter', 'default'],
    ...['--reporter', 'json', '--outputFile', report, ...alone],
    ...claims.flatMap((claim) => CLAIMS[claim]),
  ],
  { stdio: 'inherit', env: { ...process.env, PARLEY_TEST_FULL: 'true' } },
);
if (claims.includes('backends')) {
  process.stdout.write(`\n${backendTable(JSON.parse(readFileSync(report, 'utf8')))}\n`);
}
rmSync(folder, { recursive: true });
process.exitCode = status ?? 1;
if (claims.includes('push')) {
  const bench = fileURLToPath(new URL('../bench/push.mjs', import.meta.url));
  process.exitCode ||= spawnSync(process.execPath, [bench], { stdio: 'inherit' }).status ?? 1;
}
