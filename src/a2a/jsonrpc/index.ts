export * from './jsonrpc.controller.js';
export { errorAnswer } from './response.js';
