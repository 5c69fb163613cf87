export * from './code-reviewer.executor.js';
export * from './conformance.executor.js';
export * from './deployer.executor.js';
export * from './echo.executor.js';
export * from './test-runner.executor.js';
