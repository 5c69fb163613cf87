export * from './push.receiver.js';
export * from './seen.ids.js';
