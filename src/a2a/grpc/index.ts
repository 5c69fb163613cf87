export * from './grpc.controller.js';
export * from './grpc.transport.js';
