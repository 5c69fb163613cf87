export * from './anonymous.authenticator.js';
export * from './api-key.entity.js';
export * from './api-key.js';
export * from './api-key.store.js';
export * from './auth.module.js';
export * from './authenticator.js';
export * from './policy.js';
export * from './scope.js';
