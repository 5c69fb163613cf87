import { cpuSeconds, serverCoreSeconds } from '../machine.mjs';

/**
 * What one timed window saw. Rates are per second of wall time, `perCpuSecond` per second that the server
 * computed, `foreignCpu` is the share of the server's core that others took, latencies are milliseconds, `from` and `to` microseconds of the monotonic clock, which is also
 * the clock of V8's profiles.
 * @typedef {{count: number, rate: number, perCpuSecond: number, serverCpu: number, loadCpu: number,
 *   foreignCpu: number, p50: number, p99: number, from: number, to: number}} WindowFigures
 */

/**
 * Keeps `lanes` copies of `once` going: first to warm up, then for the timed window.
 * @param {{lanes: number, warmMs: number, timedMs: number, serverPid: number}} load
 * @param {(lane: number) => Promise<unknown>} once one call; a rejection ends the run
 * @returns {Promise<WindowFigures>}
 */
export async function runWindow({ lanes, warmMs, timedMs, serverPid }, once) {
  await runUntil(lanes, performance.now() + warmMs, once);
  const watch = startWatch(serverPid);
  const latencies = await runUntil(lanes, performance.now() + timedMs, once);
  return { ...watch.stop(latencies.length), ...quantiles(latencies) };
}

async function runUntil(lanes, end, once) {
  const latencies = [];
  const run = async (lane) => {
    while (performance.now() < end) {
      const start = performance.now();
      await once(lane);
      latencies.push(performance.now() - start);
    }
  };
  await Promise.all(Array.from({ length: lanes }, (_, lane) => run(lane)));
  return latencies;
}

/** Measures wall time, the server's and the load's own CPU time between now and `stop`. */
export function startWatch(serverPid) {
  const from = monotonicMicros();
  const server = cpuSeconds(serverPid);
  const core = serverCoreSeconds();
  const load = process.cpuUsage();
  return {
    /** @param {number} count how much was done */
    stop(count) {
      const to = monotonicMicros();
      const wall = (to - from) / 1e6;
      const serverSeconds = cpuSeconds(serverPid) - server;
      const coreSeconds = serverCoreSeconds() - core;
      const { user, system } = process.cpuUsage(load);
      return {
        count,
        rate: count / wall,
        perCpuSecond: count / serverSeconds,
        serverCpu: serverSeconds / wall,
        loadCpu: (user + system) / 1e6 / wall,
        foreignCpu: Math.max(0, coreSeconds - serverSeconds) / wall,
        from,
        to,
      };
    },
  };
}

export function quantiles(values) {
  const sorted = Float64Array.from(values).sort();
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
  return { p50: at(0.5), p99: at(0.99) };
}

function monotonicMicros() {
  return Number(process.hrtime.bigint() / 1000n);
}
