import { table } from '../bench/text.table.mjs';
import { CHECKS } from './audit.mjs';

const EXAMPLES = 5;

/** How many of each operation the clients brought to an end, and how long that took with all retries. */
export function operationTable(journal) {
  const rows = [...journal.operations].sort().map(([name, { done, times }]) => {
    const { median, max } = spread(times);
    return [name, String(done), `${Math.round(median)} ms`, `${Math.round(max)} ms`];
  });
  return table([['clients did', 'times', 'median', 'max'], ...rows]);
}

export function faultTable(counts) {
  return table([['fault', 'times'], ...Object.entries(counts).map(([name, count]) => [name, String(count)])]);
}

/** @param {import('./audit.mjs').Audit} audit */
export function auditTable({ findings }) {
  const rows = Object.entries(CHECKS).map(([check, title]) => [title, String(findings[check].length)]);
  const examples = Object.entries(findings).flatMap(([check, found]) =>
    found.slice(0, EXAMPLES).map((text) => `  ${check}: ${text}`),
  );
  return [table([['audit', 'found'], ...rows]), ...examples].join('\n');
}

/** @param {import('./audit.mjs').Audit} audit @param {import('./journal.mjs').Journal} journal */
export function figureLines({ figures }, journal) {
  const states = Object.entries(figures.states).map(([state, count]) => `${count} ${state.slice(11)}`);
  const { median, max } = spread(figures.pauses);
  const moved = `${figures.pauses.length} turns went on elsewhere, after ${Math.round(median)} ms in the median, ${Math.round(max)} ms at most`;
  return [
    `${figures.tasks} tasks (${states.join(', ')}), ${figures.events} events`,
    `${figures.streams} streams with ${figures.frames} frames, ${figures.resumed} of them resumed by Last-Event-ID`,
    figures.pauses.length > 0 ? moved : 'no turn had to go on elsewhere',
    `${journal.retries} calls were tried again; ${journal.early} blocking sends were answered before their task came to rest`,
  ].join('\n');
}

export function spread(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return { median: sorted[sorted.length >> 1] ?? Number.NaN, max: sorted.at(-1) ?? Number.NaN };
}
