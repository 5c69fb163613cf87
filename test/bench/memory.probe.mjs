import { writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

const PAUSE_MS = 100;

/** Loaded into a server that is measured: on SIGWINCH it collects its garbage and says what is left. */
process.on('SIGWINCH', async () => {
  // What the first collection finds to be gone has finalizers, which the second one comes after.
  for (const _ of [1, 2]) {
    globalThis.gc();
    await delay(PAUSE_MS);
  }
  writeFileSync(process.env.MEMORY_FILE, `${JSON.stringify(process.memoryUsage())}\n`);
});
