import { Server, ServerCredentials, type ServerOptions } from '@grpc/grpc-js';
import { ReflectionService } from '@grpc/reflection';
import { ServerGrpc } from '@nestjs/microservices';
import { HealthImplementation } from 'grpc-health-check';
import { A2AService, fileDescriptorProtos, grpcServiceDefinition, v03 } from '../../protocol/index.js';
import type { TlsFiles } from '../tls.files.js';
import { FileCredentials } from './file.credentials.js';

/** One for each version. */
const SERVICES = [A2AService, v03.A2AService];
const NAMES = SERVICES.map(({ typeName }) => typeName);

const MINUTE_MS = 60_000;
/** Nobody keeps a connection for ever: forgotten ones go, used ones are opened anew, perhaps to another replica. */
const CONNECTIONS: ServerOptions = {
  'grpc.max_connection_idle_ms': 5 * MINUTE_MS,
  'grpc.max_connection_age_ms': 60 * MINUTE_MS,
  'grpc.keepalive_time_ms': MINUTE_MS,
  'grpc.keepalive_timeout_ms': 20_000,
};
/** How long connections may take to close once their calls are over. */
const CLOSING_MS = 2_000;

export interface GrpcListener {
  /** `host:port`; port 0 takes any free one. */
  readonly address: string;
  /** Largest request. What is answered has no limit: a task may hold more than any one message brought. */
  readonly maxBytes: number;
  /** How deep JSON values in a message may nest. */
  readonly maxDepth: number;
  /** How many values a request may have. */
  readonly maxValues: number;
  /** How many calls, streams among them, one connection carries at a time. */
  readonly maxStreams: number;
  /** Clients may ask for the services and their types. */
  readonly reflection: boolean;
  /** Undefined: connections are not encrypted. */
  readonly tls?: TlsFiles;
}

/** Nest's gRPC transport with a server of our own making: limits, the real port, an end that waits, health, reflection. */
export class GrpcTransport extends ServerGrpc {
  readonly #health = new HealthImplementation(
    Object.fromEntries(['', ...NAMES].map((name) => [name, 'SERVING'])),
  );
  #port = 0;

  constructor(private readonly listener: GrpcListener) {
    super({
      package: SERVICES.map(({ file }) => file.proto.package),
      packageDefinition: Object.fromEntries(
        SERVICES.map((service) => [service.typeName, grpcServiceDefinition(service, listener)]),
      ),
      onLoadPackageDefinition: (_definition: object, server: Server) => {
        this.#health.addToServer(server);
        if (listener.reflection) reflection().addToServer(server);
      },
    });
  }

  /** The port that it listens on, once it does. */
  get port(): number {
    return this.#port;
  }

  /** Tells health checks whether this replica takes calls. */
  tellHealth(ready: boolean): void {
    for (const service of ['', ...NAMES]) this.#health.setStatus(service, ready ? 'SERVING' : 'NOT_SERVING');
  }

  override async createClient(): Promise<Server> {
    const { address, maxBytes, maxStreams, tls } = this.listener;
    const credentials = tls ? new FileCredentials(tls) : ServerCredentials.createInsecure();
    const server = new Server({
      ...CONNECTIONS,
      'grpc.max_receive_message_length': maxBytes,
      'grpc.max_concurrent_streams': maxStreams,
    });
    this.#port = await new Promise<number>((resolve, reject) => {
      server.bindAsync(address, credentials, (error, port) => (error ? reject(error) : resolve(port)));
    });
    return server;
  }

  /** Calls that still run get to their end first; a connection that nobody closes then does not hold the service up. */
  override async close(): Promise<void> {
    const server: Server | null = this.grpcClient;
    if (server === null || server === undefined) return;
    const forced = setTimeout(() => server.forceShutdown(), CLOSING_MS);
    await new Promise<void>((resolve) => {
      server.tryShutdown(() => resolve());
    });
    clearTimeout(forced);
  }
}

const reflection = () =>
  new ReflectionService(
    { a2a: { fileDescriptorProtos: fileDescriptorProtos(SERVICES) } as never },
    { services: NAMES },
  );
