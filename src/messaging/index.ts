export * from './approvals.js';
export * from './cancellation.js';
export * from './failure.reason.js';
export * from './intake.js';
export * from './messaging.module.js';
export * from './outcome.js';
export * from './turn.js';
export * from './turn.runner.js';
