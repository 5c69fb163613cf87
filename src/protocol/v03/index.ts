export {
  A2AService,
  StreamResponseSchema,
  TaskSchema,
} from '../gen/a2a_v03_pb.js';
export * from './agent.card.js';
export * from './base64.files.js';
export * from './http.routes.js';
export * from './json.reader.js';
export * from './json.writer.js';
export * from './proto.json.js';
export { eventProto, taskProto } from './proto.writer.js';
export * from './rpcs.js';
