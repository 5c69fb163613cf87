import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { table } from './text.table.mjs';

const TOP = 15;
const NOT_WORK = new Set(['(idle)', '(program)', '(root)']);

/** Reads the one profile that `node --cpu-prof` left in a folder. */
export function readProfile(dir) {
  const file = readdirSync(dir).find((name) => name.endsWith('.cpuprofile'));
  if (!file) throw new Error(`the service left no profile in ${dir}: did it end by SIGKILL?`);
  return JSON.parse(readFileSync(join(dir, file), 'utf8'));
}

/**
 * The functions in which the service itself spent most time between two moments, callees not counted, and
 * the same summed by package.
 * @param {object} profile of V8: times are microseconds of the monotonic clock
 * @param {{from: number, to: number}} window
 */
export function hottest(profile, { from, to }) {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node.callFrame]));
  const functions = new Map();
  const packages = new Map();
  let busy = 0;
  let now = profile.startTime;
  profile.samples.forEach((id, index) => {
    const spent = profile.timeDeltas[index];
    now += spent;
    const frame = nodes.get(id);
    if (now < from || now > to || NOT_WORK.has(frame.functionName)) return;
    busy += spent;
    add(functions, describeFrame(frame), spent);
    add(packages, packageOf(frame), spent);
  });
  const top = (sums) =>
    [...sums]
      .sort(([, a], [, b]) => b - a)
      .slice(0, TOP)
      .map(([name, spent]) => ({ name, share: spent / busy }));
  return { busyShare: busy / (to - from), functions: top(functions), packages: top(packages) };
}

/** @param {ReturnType<typeof hottest>} hot */
export function hotTable({ busyShare, functions, packages }) {
  const rows = (list) => list.map(({ name, share }) => [`${(share * 100).toFixed(1)} %`, name]);
  const busy = `JavaScript and garbage collection kept the core busy for ${Math.round(busyShare * 100)} % of the time`;
  return [
    busy,
    table([['self', 'function'], ...rows(functions)]),
    table([['self', 'package'], ...rows(packages)]),
  ].join('\n\n');
}

function add(sums, name, spent) {
  sums.set(name, (sums.get(name) ?? 0) + spent);
}

function describeFrame({ functionName, url, lineNumber }) {
  const name = functionName || '(anonymous)';
  return url ? `${name}  ${shortPath(url)}:${lineNumber + 1}` : name;
}

function shortPath(url) {
  const path = decodeURIComponent(url);
  return (
    path
      .split(/\/node_modules\//)
      .at(-1)
      ?.replace(/^.*\/dist\//, 'dist/') ?? path
  );
}

function packageOf({ functionName, url }) {
  if (!url) return functionName === '(garbage collector)' ? functionName : 'native';
  const [, found] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url) ?? [];
  if (found) return found;
  return url.startsWith('node:') ? 'node' : `parley ${shortPath(url).split('/').slice(0, 2).join('/')}`;
}
