export * from './binding.client.js';
export * from './grpc.client.js';
export * from './jsonrpc.client.js';
export * from './refusal.js';
export * from './rest.client.js';
export * from './sse.reader.js';
