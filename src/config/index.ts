export type { AgeRule } from './ages.js';
export { packageVersion } from './command.line.js';
export * from './config.js';
export * from './config.loader.js';
export * from './config.module.js';
export * from './config.problem.js';
export * from './identity.js';
export * from './public.address.js';
export * from './scopes.js';
