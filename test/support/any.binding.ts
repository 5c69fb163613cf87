import { type DescMessage, fromBinary, fromJson, type JsonObject, type JsonValue } from '@bufbuild/protobuf';
import { anyUnpack } from '@bufbuild/protobuf/wkt';
import { Client, credentials, Metadata, type ServiceError } from '@grpc/grpc-js';
import { Agent, fetch, type Response } from 'undici';
import { ErrorInfoSchema } from '../../src/protocol/gen/google/rpc/error_details_pb.js';
import { StatusSchema } from '../../src/protocol/gen/google/rpc/status_pb.js';
import {
  A2AService,
  type Binding,
  encodeMessage,
  grpcServiceDefinition,
  HTTP_ROUTES,
  isStreaming,
  OPERATIONS,
  type OperationName,
} from '../../src/protocol/index.js';

export const BINDINGS: readonly Binding[] = ['JSONRPC', 'HTTP+JSON', 'GRPC'];

/** Where a service answers. */
export interface ServiceAddress {
  readonly httpUrl: string;
  readonly grpcAddress: string;
}

/** What a client trusts, and what it shows of itself, in PEM. */
export interface ClientTls {
  readonly ca: string;
  readonly cert?: string;
  readonly key?: string;
}

export interface AnyCall {
  /** The service speaks TLS. */
  readonly tls?: ClientTls;
  readonly binding: Binding;
  readonly operation: OperationName;
  /** In ProtoJSON. The agent is its `tenant`. */
  readonly request?: JsonObject;
  /** The HTTP address is the binding's own, as a card lists it, and not the service's. */
  readonly isExactUrl?: boolean;
  /** HTTP headers or metadata, in lower case. The version is sent anyway. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** What came back, the same way for every binding. Of a stream, its first frame. */
export interface Answer {
  /** In ProtoJSON; undefined for an error. */
  readonly reply?: JsonValue;
  /** `ErrorInfo.reason` of an error. */
  readonly reason?: string;
  readonly message?: string;
  /** `ErrorInfo.metadata` of an error. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** HTTP status, or the number of the gRPC status. */
  readonly status: number;
  readonly challenge?: string;
  /** What an HTTP answer says in `A2A-Extensions`, and a gRPC one in its metadata. */
  readonly extensions?: string;
}

/** Makes one call on one binding of a running service. */
export function callAny(service: ServiceAddress, call: AnyCall): Promise<Answer> {
  if (call.binding === 'GRPC') return callGrpc(service.grpcAddress, call);
  const [path, ask] =
    call.binding === 'JSONRPC' ? (['/jsonrpc', callJsonRpc] as const) : (['/rest', callRest] as const);
  return ask(call.isExactUrl ? service.httpUrl : service.httpUrl + path, call);
}

interface ErrorJson {
  readonly message: string;
  readonly data?: readonly ErrorInfoJson[];
  readonly details?: readonly ErrorInfoJson[];
}

interface ErrorInfoJson {
  readonly reason?: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

async function callJsonRpc(url: string, { operation, request = {}, headers, tls }: AnyCall): Promise<Answer> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: OPERATIONS[operation].name, params: request });
  const [response, json] = await http(
    url,
    { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body },
    tls,
  );
  const { result, error } = json as { result?: JsonValue; error?: ErrorJson };
  return error ? failed(response, error, error.data) : answered(response, result);
}

async function callRest(url: string, { operation, request = {}, headers, tls }: AnyCall): Promise<Answer> {
  const { tenant, ...fields } = request;
  const route = HTTP_ROUTES.find(
    (r) => r.operation === operation && r.pathFields.includes('tenant') === !!tenant,
  )!;
  const path = route.template.replace(/\{(\w+)(=\*)?\}/g, (_, name: string) => {
    const field = name.replace(/_(\w)/g, (_match, letter: string) => letter.toUpperCase());
    return encodeURIComponent(String(request[field]));
  });
  const rest = Object.entries(fields).filter(([name]) => !route.pathFields.includes(name));
  const query = route.body
    ? ''
    : `?${new URLSearchParams(rest.map(([name, value]): [string, string] => [name, String(value)]))}`;
  const body = route.body ? JSON.stringify(Object.fromEntries(rest)) : undefined;
  const type: Record<string, string> = body ? { 'content-type': 'application/a2a+json' } : {};
  const [response, json] = await http(
    url + path + query,
    { method: route.method, headers: { ...headers, ...type }, body },
    tls,
  );
  const { error } = json as { error?: ErrorJson };
  return error ? failed(response, error, error.details) : answered(response, json);
}

function answered({ status, headers }: Response, reply: JsonValue | undefined): Answer {
  return { reply, status, extensions: headers.get('a2a-extensions') ?? undefined };
}

interface HttpRequest {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
}

async function http(url: string, { method, headers, body }: HttpRequest, tls?: ClientTls) {
  const leaving = new AbortController();
  const response = await fetch(url, {
    ...{ method, body, headers: { 'a2a-version': '1.0', ...headers }, signal: leaving.signal },
    // A connection of its own, closed with the answer: the next call may show another certificate.
    ...(tls && { dispatcher: new Agent({ connect: { ...tls }, pipelining: 0 }) }),
  });
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
    const text = await response.text();
    return [response, text === '' ? null : (JSON.parse(text) as JsonValue)] as const;
  }
  let text = '';
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    if (/^data: .*\n/m.test(text)) break;
  }
  leaving.abort();
  return [response, JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? 'null') as JsonValue] as const;
}

function failed(response: Response, error: ErrorJson, details: readonly ErrorInfoJson[] = []): Answer {
  const info = details.find(({ reason }) => reason !== undefined);
  return {
    status: response.status,
    message: error.message,
    reason: info?.reason ?? 'NONE',
    metadata: info?.metadata,
    challenge: response.headers.get('www-authenticate') ?? undefined,
  };
}

const grpcTls = ({ ca, cert, key }: ClientTls) =>
  credentials.createSsl(Buffer.from(ca), key ? Buffer.from(key) : null, cert ? Buffer.from(cert) : null);

const METHODS = grpcServiceDefinition(A2AService);

async function callGrpc(
  address: string,
  { operation, request = {}, headers = {}, tls }: AnyCall,
): Promise<Answer> {
  const { input, output, name } = OPERATIONS[operation] as {
    input: DescMessage;
    output: DescMessage;
    name: string;
  };
  const { path, requestSerialize, responseDeserialize } = METHODS[name]!;
  const metadata = new Metadata();
  for (const [key, value] of Object.entries({ 'a2a-version': '1.0', ...headers })) metadata.set(key, value);
  const client = new Client(address, tls ? grpcTls(tls) : credentials.createInsecure());
  const message = fromJson(input, request);
  let extensions: string | undefined;
  const onMetadata = (given: Metadata) => {
    extensions = given.get('a2a-extensions')[0]?.toString();
  };
  try {
    const reply = await new Promise<JsonValue>((resolve, reject) => {
      const read = (bytes: Buffer) => encodeMessage(output, responseDeserialize(bytes) as never);
      if (isStreaming(operation)) {
        const call = client.makeServerStreamRequest(path, requestSerialize, read, message, metadata);
        call
          .on('metadata', onMetadata)
          .on('data', resolve)
          .on('error', reject)
          .on('end', () => resolve(null));
      } else {
        client
          .makeUnaryRequest(path, requestSerialize, read, message, metadata, (error, json) =>
            error ? reject(error) : resolve(json ?? null),
          )
          .on('metadata', onMetadata);
      }
    });
    return { reply, status: 0, extensions };
  } catch (error) {
    return grpcFailure(error as ServiceError);
  } finally {
    client.close();
  }
}

function grpcFailure({ code, details, metadata }: ServiceError): Answer {
  const [bytes] = metadata.get('grpc-status-details-bin');
  const status = bytes instanceof Buffer ? fromBinary(StatusSchema, bytes) : undefined;
  const info = status?.details
    .map((any) => anyUnpack(any, ErrorInfoSchema))
    .find((found) => found !== undefined);
  return { status: code, message: details, reason: info?.reason ?? 'NONE', metadata: info?.metadata };
}
