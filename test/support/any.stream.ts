import { type DescMessage, fromJson, type JsonObject } from '@bufbuild/protobuf';
import { Client, credentials, Metadata, type ServiceError, type StatusObject, status } from '@grpc/grpc-js';
import {
  A2AService,
  type Binding,
  encodeMessage,
  grpcServiceDefinition,
  OPERATIONS,
} from '../../src/protocol/index.js';
import type { ServiceAddress } from './any.binding.js';

/** A frame of a stream in ProtoJSON, as far as tests look into it. */
export interface Frame {
  readonly task?: {
    readonly id: string;
    readonly status: { readonly state: string };
    readonly artifacts?: readonly ArtifactJson[];
  };
  readonly statusUpdate?: { readonly status: { readonly state: string } };
  readonly artifactUpdate?: { readonly artifact: ArtifactJson; readonly append?: boolean };
}

export interface ArtifactJson {
  readonly parts: readonly { readonly text: string }[];
}

/** A stream that is being read. */
export interface AnyStream {
  /** What came so far. */
  readonly frames: Frame[];
  /** Number of the last event. On gRPC it is known at the end, and only where that was not cut off. */
  readonly lastEventId: () => string | undefined;
  /** How it ended: `end`, the name of the gRPC status, or `broken` for a connection that was cut. */
  readonly ended: Promise<string>;
}

export interface StreamCall {
  readonly binding: Binding;
  readonly operation: 'sendStreamingMessage' | 'subscribeToTask';
  readonly request: JsonObject;
  readonly lastEventId?: string;
  /** In `A2A-Extensions`. */
  readonly extensions?: string;
}

/** Opens a stream on any binding and reads it to its end. */
export function openStream(service: ServiceAddress, call: StreamCall): AnyStream {
  return call.binding === 'GRPC' ? overGrpc(service, call) : overSse(service, call);
}

function overSse({ httpUrl }: ServiceAddress, call: StreamCall): AnyStream {
  const { binding, operation, request, lastEventId, extensions } = call;
  const frames: Frame[] = [];
  let last: string | undefined;
  const params = { jsonrpc: '2.0', id: 1, method: OPERATIONS[operation].name, params: request };
  const path =
    operation === 'subscribeToTask' ? `/rest/tasks/${request.id}:subscribe` : '/rest/message:stream';
  const rest = binding === 'HTTP+JSON';
  const read = async () => {
    const response = await fetch(httpUrl + (rest ? path : '/jsonrpc'), {
      method: 'POST',
      headers: {
        'a2a-version': '1.0',
        'content-type': 'application/json',
        ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
        ...(extensions === undefined ? {} : { 'a2a-extensions': extensions }),
      },
      body: JSON.stringify(rest ? request : params),
    });
    let text = '';
    for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
      const parts = (text + piece).split('\n\n');
      text = parts.pop()!;
      for (const part of parts) {
        const [, id] = /^id: (.*)$/m.exec(part) ?? [];
        const [, data] = /^data: (.*)$/m.exec(part) ?? [];
        if (data === undefined) continue;
        last = id ?? last;
        const json = JSON.parse(data) as Frame & { result?: Frame };
        frames.push(json.result ?? json);
      }
    }
    return 'end';
  };
  return { frames, lastEventId: () => last, ended: read().catch(() => 'broken') };
}

const METHODS = grpcServiceDefinition(A2AService);

function overGrpc(
  { grpcAddress }: ServiceAddress,
  { operation, request, lastEventId, extensions }: StreamCall,
): AnyStream {
  const frames: Frame[] = [];
  const { input, output, name } = OPERATIONS[operation] as {
    input: DescMessage;
    output: DescMessage;
    name: string;
  };
  const { path, requestSerialize, responseDeserialize } = METHODS[name]!;
  const metadata = new Metadata();
  metadata.set('a2a-version', '1.0');
  if (lastEventId !== undefined) metadata.set('a2a-last-event-id', lastEventId);
  if (extensions !== undefined) metadata.set('a2a-extensions', extensions);
  const client = new Client(grpcAddress, credentials.createInsecure());
  const read = (bytes: Buffer) => encodeMessage(output, responseDeserialize(bytes) as never) as Frame;
  const stream = client.makeServerStreamRequest(
    path,
    requestSerialize,
    read,
    fromJson(input, request),
    metadata,
  );
  stream.on('data', (frame: Frame) => frames.push(frame));
  let last: string | undefined;
  stream.once('status', ({ metadata: trailers }: StatusObject) => {
    last = trailers.get('a2a-last-event-id')[0]?.toString();
  });
  const ended = new Promise<string>((resolve) => {
    stream.once('end', () => resolve('end'));
    stream.once('error', (error: ServiceError) => resolve(status[error.code] ?? 'broken'));
  });
  void ended.then(() => client.close());
  return { frames, lastEventId: () => last, ended };
}
