export * from './extension.data.js';
export * from './extension.uri.js';
