import { table } from '../bench/text.table.mjs';
import { CHECKS } from './audit.mjs';

const EXAMPLES = 5;
/** The last event before a fault may have been written while it happened. */
const BLUR_MS = 100;

/** How many of each operation the clients brought to an end, and how long that took with all retries. */
export function operationTable(journal) {
  const rows = [...journal.operations].sort().map(([name, { done, times }]) => {
    const { median, max } = spread(times);
    return [name, String(done), `${Math.round(median)} ms`, `${Math.round(max)} ms`];
  });
  return table([['clients did', 'times', 'median', 'max'], ...rows]);
}

/**
 * Each kind of fault, with how soon the turns that it stopped went on elsewhere.
 * @param {import('./chaos.faults.mjs').Faults} faults @param {import('./audit.mjs').Audit} audit
 */
export function faultTable({ counts, done }, { figures }) {
  const times = takeovers(done, figures.pauses);
  const rows = Object.entries(counts).map(([name, count]) => {
    const { median, max } = spread(times[name] ?? []);
    const told = times[name] ? [`${Math.round(median)} ms`, `${Math.round(max)} ms`] : ['', ''];
    return [name, String(count), String(times[name]?.length ?? 0), ...told];
  });
  return table([['fault', 'times', 'turns went on elsewhere', 'after (median)', 'at most'], ...rows]);
}

/**
 * From a fault to the next event of each turn that it stopped, in milliseconds, by the kind of fault. The first fault
 * after the last event is held to be what stopped it.
 * @param {{fault: string, at: number}[]} done @param {{from: number, to: number}[]} pauses
 * @returns {Record<string, number[]>}
 */
export function takeovers(done, pauses) {
  const times = {};
  for (const { from, to } of pauses) {
    const cause = done.find(({ at }) => at >= from - BLUR_MS && at <= to);
    if (cause) times[cause.fault] = [...(times[cause.fault] ?? []), to - cause.at];
  }
  return times;
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
  const resumed = Object.entries(figures.resumed).map(([binding, count]) => `${count} on ${binding}`);
  const { median, max } = spread(figures.pauses.map(({ from, to }) => to - from));
  const moved = `${figures.pauses.length} turns went on elsewhere, ${Math.round(median)} ms after their last event in the median, ${Math.round(max)} ms at most`;
  return [
    `${figures.tasks} tasks (${states.join(', ')}), ${figures.events} events`,
    `${figures.streams} streams with ${figures.frames} frames, resumed after their last event: ${resumed.join(', ') || 'none'}`,
    figures.pauses.length > 0 ? moved : 'no turn had to go on elsewhere',
    `${journal.retries} calls were tried again; ${journal.early} blocking sends were answered before their task came to rest`,
  ].join('\n');
}

export function spread(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return { median: sorted[sorted.length >> 1] ?? Number.NaN, max: sorted.at(-1) ?? Number.NaN };
}
