import { defineConfig, type TestProjectConfiguration } from 'vitest/config';

const root = new URL('..', import.meta.url).pathname;

/**
 * A tier of tests. Files that are not isolated share their imports, which cost more than the tests in a tier of
 * many small files. One alone runs with `npx vitest run --config test/vitest.config.ts --project contract`.
 */
const tier = (name: string, include: string, isolate = true): TestProjectConfiguration => ({
  root,
  test: {
    name,
    include: [include],
    hookTimeout: 60_000,
    testTimeout: 60_000,
    isolate,
    setupFiles: ['reflect-metadata'],
  },
});

export default defineConfig({
  root,
  test: {
    globalSetup: ['test/support/postgres.setup.ts'],
    projects: [
      tier('unit', 'src/**/*.spec.ts'),
      tier('contract', 'test/contract/**/*.spec.ts'),
      tier('conformance', 'test/conformance/**/*.spec.ts', false),
      tier('integration', 'test/integration/**/*.spec.ts'),
      tier('e2e', 'test/e2e/**/*.spec.ts'),
      tier('architecture', 'test/architecture/**/*.spec.ts'),
    ],
  },
});
