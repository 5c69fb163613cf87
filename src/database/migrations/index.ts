import type { MigrationInterface } from 'typeorm';

/** Every migration, oldest first. A released one never changes; its class name ends in its timestamp. */
export const MIGRATIONS: readonly (new () => MigrationInterface)[] = [];
