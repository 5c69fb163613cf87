import { fileURLToPath } from 'node:url';
import { Client, credentials, Metadata } from '@grpc/grpc-js';
import protoLoader from '@grpc/proto-loader';
import { GrpcLane } from './grpc.lane.mjs';
import { bodyOf, HttpLane, sendBody } from './http.lane.mjs';
import { runWindow } from './window.mjs';

const PROTO_DIR = fileURLToPath(new URL('../../../proto', import.meta.url));
const METADATA = { 'a2a-version': '1.0' };

/**
 * gRPC GetTask, `lanes` in flight on one connection. Given the URL of JSON-RPC it makes a task first and
 * reads that one; else any id will do.
 * @param {{grpcAddress: string, url?: string, lanes: number, warmMs: number, timedMs: number,
 *   serverPid: number, headers?: Record<string, string>}} job
 * @returns {Promise<import('./window.mjs').WindowFigures & {replyBytes: number}>}
 */
export async function getLoad(job) {
  const metadata = { ...METADATA, ...job.headers };
  const id = job.url ? await makeTask(job) : '0'.repeat(36);
  const { 'lf.a2a.v1.A2AService': service } = protoLoader.loadSync('a2a.proto', { includeDirs: [PROTO_DIR] });
  const { path, requestSerialize } = service.GetTask;
  const request = requestSerialize({ id });
  const { length: replyBytes } = await callOnce({ ...job, path, request, entries: metadata });
  const lane = new GrpcLane({ address: job.grpcAddress, path, metadata, request, replyBytes });
  const figures = await runWindow(job, () => lane.call());
  await lane.close();
  return { ...figures, replyBytes };
}

/** One call by a real client: what a right answer is, and how long. */
function callOnce({ grpcAddress, path, request, entries }) {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(entries)) metadata.set(name, value);
  const client = new Client(grpcAddress, credentials.createInsecure());
  const asIs = (bytes) => bytes;
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(path, asIs, asIs, request, metadata, (error, reply) => {
      client.close();
      if (error) reject(error);
      else resolve(reply);
    });
  });
}

async function makeTask({ url, headers }) {
  const lane = new HttpLane(url, '1.0', headers);
  const answer = JSON.parse(bodyOf(await lane.post(sendBody('SendMessage', 'x'.repeat(100)))));
  await lane.close();
  if (!answer.result?.task) throw new Error(`no task: ${JSON.stringify(answer).slice(0, 300)}`);
  return answer.result.task.id;
}
