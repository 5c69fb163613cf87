export * from './database.errors.js';
export * from './database.module.js';
export * from './embedded.postgres.js';
export * from './migration.js';
export * from './migration.runner.js';
export { MIGRATIONS } from './migrations/index.js';
export * from './postgres.js';
export * from './secret.cipher.js';
