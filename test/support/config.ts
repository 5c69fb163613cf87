import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Config, type Environment, loadConfig } from '../../src/config/index.js';

/** Settings as a test needs them: free ports, silence, nothing from the real environment. */
export function testConfig(env: Environment = {}): Config {
  return loadConfig({
    PARLEY_HTTP_PORT: '0',
    PARLEY_GRPC_PORT: '0',
    PARLEY_DATA_DIR: join(tmpdir(), 'parley-test-data'),
    PARLEY_LOG_LEVEL: 'silent',
    ...env,
  });
}
