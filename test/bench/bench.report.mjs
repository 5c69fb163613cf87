import { CASES, GOALS } from './bench.cases.mjs';
import { SUBJECTS } from './bench.subjects.mjs';
import { table } from './text.table.mjs';

/** Above this the machine is too busy for the figures to count. */
const FOREIGN_LIMIT = 0.1;

/** All figures of a run: one entry per round, case and subject. */
export class Figures {
  /** @type {{round: number, case: string, subject: string, figures: Record<string, number>}[]} */
  entries = [];

  add(round, name, subject, figures) {
    this.entries.push({ round, case: name, subject, figures });
  }

  /** The middle one of the rounds, or undefined where the case did not run. */
  median(name, subject, figure) {
    return median(this.#of(name, subject).map((entry) => entry.figures[figure]));
  }

  /** The middle one of the ratios within each round: what the machine does to a whole round falls out. */
  medianRatio(name, subject, other, figure) {
    const others = this.#of(name, other);
    const ratios = this.#of(name, subject).flatMap(({ round, figures }) => {
      const match = others.find((entry) => entry.round === round);
      return match ? [figures[figure] / match.figures[figure]] : [];
    });
    return median(ratios);
  }

  /** The largest share of the server's core that other processes took in any window. */
  get foreignCpu() {
    return Math.max(...this.entries.map(({ figures }) => figures.foreignCpu));
  }

  #of(name, subject) {
    return this.entries.filter((entry) => entry.case === name && entry.subject === subject);
  }
}

function median(values) {
  if (values.length === 0) return undefined;
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Where, and under what conditions, the figures came about. */
export function conditions(figures, { machine, commitMs }) {
  const { cpu, cores, node, pinned } = machine;
  const lines = [
    `${cpu}, ${cores} cores, node ${node}; one commit takes ${commitMs.toFixed(2)} ms`,
    pinned
      ? 'Server on core 0, load and Postgres on core 1; (n %) is how busy the server kept its core.'
      : 'NOT pinned to cores (no taskset): the ratios are rough.',
  ];
  if (figures.foreignCpu > FOREIGN_LIMIT) {
    const share = Math.round(figures.foreignCpu * 100);
    lines.push(`Others took up to ${share} % of the server's core: run it again on a quiet machine.`);
  }
  return lines.join('\n');
}

/** One row per case, one column per subject: the median rate, and how busy the server's core was. */
export function rateTable(figures) {
  const subjects = Object.keys(SUBJECTS).filter((name) => figures.entries.some((e) => e.subject === name));
  const cases = CASES.filter(({ name }) => figures.entries.some((entry) => entry.case === name));
  const header = ['', 'unit', ...subjects.map((name) => SUBJECTS[name].title)];
  const rows = cases.map(({ name, title, unit }) => [
    title,
    unit,
    ...subjects.map((subject) => {
      const rate = figures.median(name, subject, 'rate');
      if (rate === undefined) return '-';
      const busy = figures.median(name, subject, 'serverCpu');
      const cpu = Number.isNaN(busy) ? '' : ` (${Math.round(busy * 100)} %)`;
      return Math.round(rate).toLocaleString('en') + cpu;
    }),
  ]);
  return table([header, ...rows]);
}

/** Title, goal, value and verdict of each goal. */
export function verdicts(figures) {
  return GOALS.map(({ title, goal, value, met, show }) => {
    const found = value(figures);
    if (found === undefined || Number.isNaN(found))
      return { title, goal, value: undefined, verdict: 'not run' };
    return { title, goal, value: found, shown: show(found), verdict: met(found) ? 'met' : 'MISSED' };
  });
}

export function verdictTable(figures) {
  const rows = verdicts(figures)
    .filter(({ value }) => value !== undefined)
    .map(({ title, goal, shown, verdict }) => [title, goal, shown, verdict]);
  return table([['goal', 'wanted', 'measured', 'verdict'], ...rows]);
}
