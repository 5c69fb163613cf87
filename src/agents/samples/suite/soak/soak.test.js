import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

console.log(`soak runs in process ${process.pid}`);

for (let round = 1; round <= 20; round++) {
  test(`round ${round} of 20`, async () => {
    await delay(500);
    assert.ok(process.memoryUsage().heapUsed < 500e6);
  });
}
