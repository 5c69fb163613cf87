export { localSecrets, secretFile } from './local.secrets.js';
export * from './push.configs.js';
export * from './push.module.js';
export * from './push.service.js';
export * from './push.store.js';
export * from './retry.schedule.js';
export * from './webhook.client.js';
export * from './webhook.guard.js';
export * from './webhook.signer.js';
