import { runLoad } from './machine.mjs';

/**
 * A case: what is sent to whom. `measure` runs the load against one started subject; `quick` asks for a short
 * run. Its `rate` is what the table shows.
 * @typedef {{name: string, title: string, unit: string, subjects: string[],
 *   measure: (subject: import('./bench.subjects.mjs').Subject, quick: boolean) =>
 *   Promise<import('./load/window.mjs').WindowFigures>}} Case
 */

const HTTP = ['parley', 'sdkMemory', 'sdkPostgres'];

/** @type {Case[]} */
export const CASES = [
  sendCase('send', '1.0', 'Blocking SendMessage, 32 connections', HTTP),
  sendCase('send-v03', '0.3', 'The same in A2A 0.3', ['parley']),
  streamCase('stream-1000', 1, 1_000, HTTP, [2, 5]),
  streamCase('stream-3000', 1, 3_000, HTTP, [1, 3]),
  // The SDK's cost grows with the square of the length: 30,000 chunks would take it a quarter of an hour.
  streamCase('stream-30000', 1, 30_000, ['parley'], [1, 1]),
  streamCase('streams-50x20', 50, 20, HTTP, [3, 10]),
  {
    name: 'get',
    title: 'gRPC GetTask, 32 in flight',
    unit: 'requests/s',
    subjects: ['parley', 'raw'],
    measure: ({ pid, url, grpcAddress }, quick) =>
      runLoad({ kind: 'get', url, grpcAddress, lanes: 32, ...times(quick), serverPid: pid }),
  },
  knownCase('rs256', 'The same with a JWT, RS256'),
  knownCase('es256', 'The same with a JWT, ES256'),
  knownCase('key', 'The same with an API key'),
];

function times(quick) {
  return quick ? { warmMs: 1_500, timedMs: 2_000 } : { warmMs: 3_000, timedMs: 6_000 };
}

function knownCase(kind, title) {
  return {
    name: `get-${kind}`,
    title,
    unit: 'requests/s',
    subjects: ['parleyKnown'],
    measure: ({ pid, url, grpcAddress, credentials }, quick) =>
      runLoad({
        ...{ kind: 'get', url, grpcAddress, lanes: 32, ...times(quick), serverPid: pid },
        headers: credentials[kind],
      }),
  };
}

function sendCase(name, version, title, subjects) {
  return {
    name,
    title,
    unit: 'requests/s',
    subjects,
    measure: ({ pid, url }, quick) =>
      runLoad({ kind: 'send', url, version, lanes: 32, ...times(quick), serverPid: pid }),
  };
}

function streamCase(name, streams, chunks, subjects, [quickRepeats, repeats]) {
  const count = chunks.toLocaleString('en');
  return {
    name,
    title: streams === 1 ? `One stream of ${count} chunks` : `${streams} streams of ${count} chunks`,
    unit: 'events/s',
    subjects,
    measure: ({ pid, url }, quick) =>
      runLoad({
        kind: 'stream',
        url,
        streams,
        chunks,
        repeats: quick ? quickRepeats : repeats,
        warmChunks: Math.min(chunks, 200),
        serverPid: pid,
      }),
  };
}

/**
 * What the figures must show. `value` is undefined where a case did not run.
 * @type {{title: string, goal: string, value: (figures: import('./bench.report.mjs').Figures) =>
 *   number | undefined, met: (value: number) => boolean, show: (value: number) => string}[]}
 */
export const GOALS = [
  ratioGoal('SendMessage against the SDK in memory', 'send', 'sdkMemory', 1),
  ratioGoal('SendMessage against the SDK on Postgres', 'send', 'sdkPostgres', 10),
  {
    title: 'SendMessage in 0.3 against 1.0, per CPU second',
    goal: '>= 0.85 x',
    value: (figures) => {
      const [old, current] = ['send-v03', 'send'].map((name) =>
        figures.median(name, 'parley', 'perCpuSecond'),
      );
      return old && current && old / current;
    },
    met: (ratio) => ratio >= 0.85,
    show: (ratio) => `${ratio.toFixed(2)} x`,
  },
  {
    title: 'One stream of 3,000 chunks',
    goal: '>= 10,000 events/s',
    value: (figures) => figures.median('stream-3000', 'parley', 'rate'),
    met: (rate) => rate >= 10_000,
    show: (rate) => `${Math.round(rate).toLocaleString('en')} events/s`,
  },
  {
    title: 'Cost per event, 30,000 chunks against 1,000',
    goal: '<= 1.20 x',
    value: (figures) => {
      const [short, long] = ['stream-1000', 'stream-30000'].map((name) =>
        figures.median(name, 'parley', 'rate'),
      );
      return short && long && short / long;
    },
    met: (ratio) => ratio <= 1.2,
    show: (ratio) => `${ratio.toFixed(2)} x`,
  },
  ratioGoal('GetTask against grpc-js alone, requests/s', 'get', 'raw', 0.6),
  ratioGoal('GetTask against grpc-js alone, per CPU second', 'get', 'raw', 0.6, 'perCpuSecond'),
  knownGoal('rs256', 'GetTask with a JWT (RS256) against without, per CPU second'),
  knownGoal('es256', 'GetTask with a JWT (ES256) against without, per CPU second'),
  knownGoal('key', 'GetTask with an API key against without, per CPU second'),
];

function ratioGoal(title, name, other, least, figure = 'rate') {
  return {
    title,
    goal: `>= ${least.toFixed(2)} x`,
    value: (figures) => figures.medianRatio(name, 'parley', other, figure),
    met: (ratio) => ratio >= least,
    show: (ratio) => `${ratio.toFixed(2)} x`,
  };
}

function knownGoal(kind, title) {
  return {
    title,
    goal: '>= 0.90 x',
    value: (figures) => {
      const known = figures.median(`get-${kind}`, 'parleyKnown', 'perCpuSecond');
      const open = figures.median('get', 'parley', 'perCpuSecond');
      return known && open && known / open;
    },
    met: (ratio) => ratio >= 0.9,
    show: (ratio) => `${ratio.toFixed(2)} x`,
  };
}
