import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const DEMO = fileURLToPath(new URL('./demo.mjs', import.meta.url));

it('The demo brings a change to staging over each of the three bindings and exits 0', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [DEMO]);

  const told = stdout.split('\nOver ').slice(1);
  expect(told.map((part) => part.split(',')[0])).toEqual(['JSON-RPC', 'HTTP+JSON', 'gRPC']);
  for (const part of told) {
    expect(part).toContain('| ✔ a new cart is empty');
    expect(part).toContain('INPUT_REQUIRED Which branch is the base of this diff?');
    expect(part).toContain('REJECTED Deploys to production are not made through this agent');
    expect(part).toContain('AUTH_REQUIRED An operator has to approve the deploy of shop 1.4.2 to staging');
    expect(part).toContain('COMPLETED shop 1.4.2 runs in staging');
  }
});
