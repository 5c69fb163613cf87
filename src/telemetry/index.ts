export * from './log.value.js';
export * from './pino.logger.js';
