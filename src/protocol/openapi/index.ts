export * from './openapi.document.js';
export * from './proto.comments.js';
