export * from './fetch.failure.js';
export * from './instruments.js';
export * from './log.value.js';
export * from './meter.js';
export * from './pino.logger.js';
export * from './span.js';
export * from './telemetry.js';
export * from './telemetry.module.js';
