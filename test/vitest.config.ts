import { defineConfig, type TestProjectConfiguration } from 'vitest/config';

const root = new URL('..', import.meta.url).pathname;

/** A tier of tests, as CONTRIBUTORS run it: `npx vitest --config test/vitest.config.ts --project contract`. */
const tier = (
  name: string,
  include: string,
  test: { testTimeout?: number } = {},
): TestProjectConfiguration => ({
  root,
  test: {
    name,
    include: [include],
    hookTimeout: 60_000,
    testTimeout: 20_000,
    setupFiles: ['reflect-metadata'],
    ...test,
  },
});

export default defineConfig({
  root,
  test: {
    globalSetup: ['test/support/postgres.setup.ts'],
    projects: [
      tier('unit', 'src/**/*.spec.ts', { testTimeout: 5_000 }),
      tier('contract', 'test/contract/**/*.spec.ts'),
      tier('conformance', 'test/conformance/**/*.spec.ts'),
      tier('integration', 'test/integration/**/*.spec.ts'),
      tier('e2e', 'test/e2e/**/*.spec.ts', { testTimeout: 60_000 }),
      tier('architecture', 'test/architecture/**/*.spec.ts'),
    ],
  },
});
