import { fromBinary } from '@bufbuild/protobuf';
import { Client, credentials, Metadata, status } from '@grpc/grpc-js';
import { ErrorInfoSchema } from '../../../dist/protocol/gen/google/rpc/error_details_pb.js';
import { StatusSchema } from '../../../dist/protocol/gen/google/rpc/status_pb.js';
import {
  A2AService,
  decodeMessage,
  encodeMessage,
  grpcServiceDefinition,
} from '../../../dist/protocol/index.js';
import { CallFailure } from './call.failure.mjs';

const DEFINITION = grpcServiceDefinition(A2AService);
const METHODS = {
  send: 'sendMessage',
  stream: 'sendStreamingMessage',
  get: 'getTask',
  list: 'listTasks',
  cancel: 'cancelTask',
  subscribe: 'subscribeToTask',
};

/** Speaks ProtoJSON to the outside like the other two. @implements {import('./caller.mjs').Caller} */
export class GrpcCaller {
  binding = 'GRPC';
  #client;

  /**
   * @param {{url: string, headers: Record<string, string>, timeoutMs: number, silenceMs: number,
   *   isSecure?: boolean}} options
   */
  constructor(options) {
    this.options = options;
    // Replicas come back within seconds; the default back-off would look for them after minutes.
    const reconnect = { 'grpc.initial_reconnect_backoff_ms': 100, 'grpc.max_reconnect_backoff_ms': 1_000 };
    const channel = options.isSecure ? credentials.createSsl() : credentials.createInsecure();
    this.#client = new Client(options.url, channel, reconnect);
  }

  call(operation, params) {
    const { path, input, output, serialize, deserialize } = methodOf(operation);
    const deadline = Date.now() + this.options.timeoutMs;
    return new Promise((resolve, reject) => {
      const request = decodeMessage(input, params);
      const done = (error, reply) => (error ? reject(failure(error)) : resolve(encodeMessage(output, reply)));
      this.#client.makeUnaryRequest(
        path,
        serialize,
        deserialize,
        request,
        this.#metadata(),
        { deadline },
        done,
      );
    });
  }

  async *open(operation, params, lastEventId) {
    const { path, input, output, serialize, deserialize } = methodOf(operation);
    const request = decodeMessage(input, params);
    const stream = this.#client.makeServerStreamRequest(
      path,
      serialize,
      deserialize,
      request,
      this.#metadata(lastEventId),
    );
    const watch = setTimeout(() => stream.cancel(), this.options.silenceMs);
    try {
      for await (const reply of stream) {
        watch.refresh();
        yield { event: encodeMessage(output, reply) };
      }
    } catch (error) {
      throw failure(error);
    } finally {
      clearTimeout(watch);
      stream.cancel();
    }
  }

  close() {
    this.#client.close();
  }

  #metadata(lastEventId) {
    const metadata = new Metadata();
    const last = lastEventId === undefined ? {} : { 'a2a-last-event-id': String(lastEventId) };
    const entries = { 'a2a-version': '1.0', ...this.options.headers, ...last };
    for (const [name, value] of Object.entries(entries)) metadata.set(name, value);
    return metadata;
  }
}

function methodOf(operation) {
  const { input, output, name } = A2AService.method[METHODS[operation]];
  const { path, requestSerialize: serialize, responseDeserialize: deserialize } = DEFINITION[name];
  return { path, input, output, serialize, deserialize };
}

/** Without details it is grpc-js that speaks: no answer came. */
function failure(error) {
  const [details] = error.metadata?.get('grpc-status-details-bin') ?? [];
  if (details === undefined)
    return new CallFailure(`no answer: ${status[error.code] ?? error} ${error.details ?? ''}`);
  const [last] = error.metadata.get('a2a-last-event-id');
  const found = fromBinary(StatusSchema, details).details.find(({ typeUrl }) =>
    typeUrl.endsWith('.ErrorInfo'),
  );
  const reason = found ? fromBinary(ErrorInfoSchema, found.value).reason : status[error.code];
  const told = new CallFailure(`${reason}: ${error.details}`, reason);
  if (last !== undefined) told.lastEventId = Number(last);
  return told;
}
