export * from './grpc.operations.js';
export * from './jsonrpc.dialect.js';
export * from './rest.operations.js';
