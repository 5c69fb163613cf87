import { readFileSync, rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** Node's arguments for a server whose memory is measured; its settings need `MEMORY_FILE`, a file of its own. */
export const MEASURED = ['--expose-gc', '--import', new URL('./memory.probe.mjs', import.meta.url).href];

const LOOK_MS = 20;
/** After so long without work V8 gives back what a burst of work made it take. */
const IDLE_MS = 30_000;

/** Waits until an idle process has given back what it does not need. */
export const untilIdle = () => delay(IDLE_MS);

/**
 * What a server holds once its garbage is collected: what lies about until V8 wants the room says nothing of what
 * is needed.
 * @param {number} pid of a server started with {@link MEASURED}
 * @param {string} file its `MEMORY_FILE`
 * @returns {Promise<NodeJS.MemoryUsage>}
 */
export async function memoryOf(pid, file) {
  rmSync(file, { force: true });
  process.kill(pid, 'SIGWINCH');
  for (;;) {
    const text = read(file);
    if (text.endsWith('\n')) return JSON.parse(text);
    await delay(LOOK_MS);
  }
}

function read(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
