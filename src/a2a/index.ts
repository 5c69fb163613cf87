export * from './a2a.module.js';
export * from './grpc.server.js';
export * from './http.server.js';
export * from './operations.js';
export * from './tls.files.js';
