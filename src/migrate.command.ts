import { Command } from 'commander';
import type { Config } from './config/index.js';
import { type MigrationState, migrate, migrationStates, pendingStatements } from './database/index.js';
import { withDatabase } from './database.session.js';

interface MigrateOptions {
  readonly status?: boolean;
  readonly dryRun?: boolean;
  readonly breaking?: boolean;
}

/** `parley migrate`: safe while replicas run or start, and when several run it at once. */
export function migrateCommand(settings: () => Config): Command {
  return new Command('migrate')
    .description('Bring the database to the level of this release')
    .option('--status', 'only say what is applied and what is pending')
    .option('--dry-run', 'only print the SQL that would be run')
    .option('--breaking', 'also run what the release before cannot run on; stop its replicas first')
    .action(async ({ status, dryRun, breaking = false }: MigrateOptions) => {
      const text = await withDatabase(settings(), async (_, url) => {
        if (status) return statusText(await migrationStates(url));
        if (dryRun) return dryRunText(await pendingStatements(url));
        return doneText(await migrate(url, { breaking }));
      });
      process.stdout.write(`${text}\n`);
    });
}

function statusText(states: readonly MigrationState[]): string {
  return states.map(({ name, state, breaking }) => `${state.padEnd(8)}  ${name}${mark(breaking)}`).join('\n');
}

function dryRunText(pending: Awaited<ReturnType<typeof pendingStatements>>): string {
  if (pending.length === 0) return '-- nothing is pending';
  return pending
    .map(({ migration, sql }) =>
      [`-- ${migration.name}${mark(migration.breaking)}`, ...sql.map((text) => `${text};`)].join('\n'),
    )
    .join('\n\n');
}

const doneText = (names: readonly string[]) =>
  names.length === 0 ? 'Nothing was pending' : names.map((name) => `applied   ${name}`).join('\n');

const mark = (breaking = false) => (breaking ? '  (breaking)' : '');
