import { cpus } from 'node:os';
import { allCoresSeconds, runLoad } from '../machine.mjs';

const LANES = 32;

/** The same load on one replica and, half and half, on two. */
export async function throughput({ replicas: [a, b], quick }) {
  const times = quick ? { warmMs: 1_500, timedMs: 2_000 } : { warmMs: 3_000, timedMs: 8_000 };
  const load = (replica, lanes) =>
    runLoad({
      kind: 'send',
      url: `${replica.url}/jsonrpc`,
      version: '1.0',
      lanes,
      ...times,
      serverPid: replica.pid,
    });
  const [one, oneTook] = await share(() => load(a, LANES));
  const [[first, second], bothTook] = await share(() =>
    Promise.all([load(a, LANES / 2), load(b, LANES / 2)]),
  );
  const both = first.rate + second.rate;
  const busy = (figures) => `${Math.round(figures.serverCpu * 100)} %`;
  return [
    ['one replica', `${Math.round(one.rate)} requests/s, its CPU ${busy(one)}`],
    ['two replicas', `${Math.round(both)} requests/s, their CPUs ${busy(first)} and ${busy(second)}`],
    ['ratio', `${(both / one.rate).toFixed(2)} x`],
    ['all cores, with load and Postgres', `${oneTook} % busy with one, ${bothTook} % with two`],
  ];
}

/** Near 100 % it is the machine that limits, and no replica. */
async function share(work) {
  const before = { busy: allCoresSeconds(), at: performance.now() };
  const result = await work();
  const seconds = (performance.now() - before.at) / 1_000;
  return [result, Math.round((100 * (allCoresSeconds() - before.busy)) / seconds / cpus().length)];
}
