export * from './rest.controller.js';
export * from './rest.error.js';
export { methodsAt } from './rest.routes.js';
