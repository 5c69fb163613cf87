// The floor under gRPC GetTask: grpc-js alone, answering with as many bytes as the service does.
// node raw.server.mjs PORT REPLY_BYTES
import { Server, ServerCredentials } from '@grpc/grpc-js';

const [port, replyBytes] = process.argv.slice(2).map(Number);
const reply = Buffer.alloc(replyBytes, 1);
const asIs = (bytes) => bytes;

const server = new Server();
server.addService(
  {
    getTask: {
      path: '/lf.a2a.v1.A2AService/GetTask',
      requestStream: false,
      responseStream: false,
      requestSerialize: asIs,
      requestDeserialize: asIs,
      responseSerialize: asIs,
      responseDeserialize: asIs,
    },
  },
  { getTask: (_call, answer) => answer(null, reply) },
);
server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error) => {
  if (error) throw error;
});
