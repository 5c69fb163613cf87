export * from './operator.module.js';
