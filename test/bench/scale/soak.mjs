import { runLoad } from '../machine.mjs';
import { startService } from './service.process.mjs';

const PARTS = 6;
const LANES = 32;
/** Sends of an hour, at ten a second. */
const HOURLY = 36_000;
/** By how much the memory may grow after the first part: what caches and compiled code still take. */
const GOAL = 1.1;

/** Sends without pause, and what the service holds after each part of the time, its garbage collected. */
export async function soak({ dir, databaseUrl }, seconds) {
  const service = await startService({ dir, databaseUrl });
  const load = {
    kind: 'send',
    url: `${service.url}/jsonrpc`,
    version: '1.0',
    lanes: LANES,
    serverPid: service.pid,
  };
  const held = [];
  let sends = 0;
  for (let part = 0; part < PARTS; part += 1) {
    const { count } = await runLoad({ ...load, warmMs: 0, timedMs: (seconds * 1_000) / PARTS });
    sends += count;
    const { heapUsed, external } = await service.memory();
    held.push((heapUsed + external) / 2 ** 20);
  }
  await service.stop();
  const ratio = held.at(-1) / held[0];
  const told = held.map((mib) => mib.toFixed(1)).join(', ');
  const hours = sends / HOURLY;
  return `${sends} sends in ${seconds} s, ${hours.toFixed(1)} hours' worth at ten a second: ${told} MiB held (goal: flat, ${ratio <= GOAL ? 'met' : 'MISSED'})`;
}
