export * from './anonymous.authenticator.js';
export * from './auth.module.js';
export * from './authenticator.js';
export * from './policy.js';
export * from './scope.js';
