import { table } from '../bench/text.table.mjs';

/** What every kind of back end is held to, by the titles of the tests. */
const COLUMNS = {
  success: /"hello"/,
  stream: /"stream"/,
  question: /asks and goes on/,
  approval: /waits for an approval/,
  cancel: /stops when the task is cancelled/,
  silent: /is silent for too long/,
  dies: /"die"/,
  garbage: /"garbage"/,
  '5 MB': /"big"/,
};

/** `-`: the kind cannot do it at all, which the test's title says. */
const CELLS = { passed: 'ok', failed: 'FAILED', skipped: '-', pending: '-', todo: '-' };

/**
 * The suite of the back ends as a table: a line for each kind, a column for each behaviour.
 *
 * @param {{ testResults: { assertionResults: { ancestorTitles: string[], title: string, status: string }[] }[] }} report
 *   Vitest's, as JSON
 */
export function backendTable({ testResults }) {
  const kinds = new Map();
  for (const { ancestorTitles, title, status } of testResults.flatMap((file) => file.assertionResults)) {
    const [, kind] = /^An agent behind (.*)$/.exec(ancestorTitles[0] ?? '') ?? [];
    const [column] = Object.entries(COLUMNS).find(([, pattern]) => pattern.test(title)) ?? [];
    if (kind && column) kinds.set(kind, { ...kinds.get(kind), [column]: CELLS[status] ?? status });
  }
  const columns = Object.keys(COLUMNS);
  const rows = [...kinds].map(([kind, cells]) => [kind, ...columns.map((column) => cells[column] ?? '-')]);
  return table([['back end', ...columns], ...rows]);
}
