export * from './open.streams.js';
export * from './sink.js';
export * from './sse.sink.js';
