export * from './call.context.js';
export * from './errors.js';
export * from './gen/a2a_pb.js';
export * from './operations.js';
export * from './stream.event.js';
