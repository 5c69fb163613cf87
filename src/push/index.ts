export { localSecrets, secretFile } from './local.secrets.js';
export * from './push.configs.js';
export * from './push.module.js';
export * from './push.service.js';
export * from './push.store.js';
export type { FailingHost } from './receiver.hosts.js';
