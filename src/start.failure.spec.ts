import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { testConfig } from '../test/support/config.js';
import { startFailure } from './start.failure.js';

function thrown(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  return undefined;
}

it('A start names the data folder that cannot be used, and no port', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-start-'));
  try {
    const dataDir = join(folder, 'file');
    writeFileSync(dataDir, '');
    const config = testConfig({ PARLEY_DATA_DIR: dataDir });
    const error = thrown(() => mkdirSync(join(dataDir, 'postgres'), { recursive: true }));
    expect(startFailure(error, config)).toBe(
      `Parley cannot start: the data folder cannot be used (ENOTDIR: not a directory, mkdir '${dataDir}/postgres'); correct PARLEY_DATA_DIR.`,
    );
    const denied = Object.assign(new Error(`EACCES: permission denied, mkdir '${dataDir}'`), {
      code: 'EACCES',
      path: dataDir,
    });
    expect(startFailure(denied, config)).toMatch(/data folder cannot be used \(EACCES.*PARLEY_DATA_DIR/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('A start names a port that this account may not use', () => {
  const config = testConfig({ PARLEY_HTTP_PORT: '80' });
  const error = Object.assign(new Error('listen EACCES: permission denied 127.0.0.1:80'), { code: 'EACCES' });
  expect(startFailure(error, config)).toMatch(/127\.0\.0\.1:80 may not be used .* PARLEY_HTTP_PORT/);
});
