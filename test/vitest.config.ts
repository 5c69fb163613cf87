import { availableParallelism } from 'node:os';
import { defineConfig, type TestProjectConfiguration } from 'vitest/config';

const root = new URL('..', import.meta.url).pathname;

/**
 * A tier of tests. One alone runs with `npx vitest run --config test/vitest.config.ts --project contract`. Files
 * share their imports, which cost more than most of their tests: whoever sets something for the whole process
 * (clock, tracer, environment) takes it back at the end of its file.
 */
const tier = (name: string, include: string): TestProjectConfiguration => ({
  root,
  test: {
    name,
    include: [include],
    hookTimeout: 180_000,
    // A net for what hangs: nothing is fast on a machine with other work.
    testTimeout: 180_000,
    isolate: false,
    setupFiles: ['reflect-metadata'],
  },
});

export default defineConfig({
  root,
  test: {
    // Many tests wait for others: two at least keep a small machine busy.
    maxWorkers: Math.max(2, availableParallelism()),
    globalSetup: ['test/support/postgres.setup.ts'],
    projects: [
      tier('unit', 'src/**/*.spec.ts'),
      tier('contract', 'test/contract/**/*.spec.ts'),
      tier('conformance', 'test/conformance/**/*.spec.ts'),
      tier('integration', 'test/integration/**/*.spec.ts'),
      tier('e2e', 'test/e2e/**/*.spec.ts'),
      tier('architecture', 'test/architecture/**/*.spec.ts'),
    ],
  },
});
