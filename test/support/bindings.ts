import { create } from '@bufbuild/protobuf';
import {
  type Client,
  type ClientOptions,
  credentials,
  loadPackageDefinition,
  Metadata,
  type ServiceError,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { CallerGate } from '../../src/a2a/caller.gate.js';
import { CallerLimits } from '../../src/a2a/caller.limits.js';
import { type AgentCapabilities, Capabilities, CardCapabilities } from '../../src/a2a/capabilities.js';
import { Dispatcher } from '../../src/a2a/dispatcher.js';
import { Faults } from '../../src/a2a/faults.js';
import { GrpcController } from '../../src/a2a/grpc/index.js';
import { JsonBody } from '../../src/a2a/http.body.js';
import { configureHttp, connectGrpc, httpAdapter, Operations } from '../../src/a2a/index.js';
import { JsonRpcController } from '../../src/a2a/jsonrpc/index.js';
import { RestController } from '../../src/a2a/rest/index.js';
import { OpenStreams } from '../../src/a2a/streaming/index.js';
import { type AgentDefinition, AgentRegistry } from '../../src/agents/index.js';
import { AnonymousAuthenticator, AuditLog, Authenticator, Policy } from '../../src/auth/index.js';
import { ScopePolicy } from '../../src/auth/scope.policy.js';
import type { CardService } from '../../src/cards/index.js';
import { Config, type Environment } from '../../src/config/index.js';
import { Readiness } from '../../src/health/index.js';
import { type A2AOperations, AgentCardSchema } from '../../src/protocol/index.js';
import { TaskStore } from '../../src/tasks/index.js';
import { testConfig } from './config.js';
import { FakeAgents } from './fake.agents.js';
import { FakeAudit } from './fake.audit.js';
import { FakeOperations } from './fake.operations.js';

export interface BindingsOptions<O extends A2AOperations> {
  readonly operations?: O;
  readonly agents?: readonly AgentDefinition[];
  readonly capabilities?: Partial<AgentCapabilities>;
  /** Published cards, whose capabilities count in place of the given ones. */
  readonly cards?: CardService;
  readonly authenticator?: Authenticator;
  readonly env?: Environment;
  /** Asked only where tasks are limited. */
  readonly store?: Pick<TaskStore, 'list'>;
}

export interface Bindings<O extends A2AOperations = FakeOperations> {
  readonly app: NestFastifyApplication;
  readonly operations: O;
  readonly streams: OpenStreams;
  /** `http://127.0.0.1:port` */
  readonly url: string;
  /** `127.0.0.1:port` */
  readonly grpc: string;
  /** Says that the service is about to stop. */
  drain(): void;
}

const EVERYTHING: AgentCapabilities = {
  streaming: true,
  pushNotifications: true,
  extendedAgentCard: true,
  versions: { JSONRPC: ['1.0'], 'HTTP+JSON': ['1.0'], GRPC: ['1.0'] },
  card: create(AgentCardSchema, { name: 'Public' }),
};

/** The three bindings on real sockets over a service that the test gives. */
export async function startBindings<O extends A2AOperations = FakeOperations>(
  options: BindingsOptions<O> = {},
): Promise<Bindings<O>> {
  const draining = new AbortController();
  const config = testConfig(options.env);
  const operations = options.operations ?? (new FakeOperations() as unknown as O);
  const capabilities = { ...EVERYTHING, ...options.capabilities };

  @Module({
    controllers: [JsonRpcController, RestController, GrpcController],
    providers: [
      CallerGate,
      CallerLimits,
      Dispatcher,
      Faults,
      JsonBody,
      OpenStreams,
      { provide: Config, useValue: config },
      { provide: AgentRegistry, useValue: new FakeAgents(options.agents) },
      {
        provide: Capabilities,
        useValue: options.cards ? new CardCapabilities(options.cards) : { of: () => capabilities },
      },
      { provide: Authenticator, useValue: options.authenticator ?? new AnonymousAuthenticator() },
      { provide: Policy, useValue: new ScopePolicy(config, new FakeAudit()) },
      { provide: AuditLog, useValue: new FakeAudit() },
      { provide: TaskStore, useValue: options.store },
      { provide: Operations, useValue: operations },
      {
        provide: Readiness,
        useValue: {
          draining: draining.signal,
          watch(tell: (ready: boolean) => void) {
            tell(true);
            draining.signal.addEventListener('abort', () => tell(false));
          },
        },
      },
    ],
  })
  class BindingsUnderTest {}

  const app = await NestFactory.create<NestFastifyApplication>(BindingsUnderTest, httpAdapter(config), {
    logger: false,
    bodyParser: false,
  });
  configureHttp(app, config);
  const transport = connectGrpc(app, config);
  await app.startAllMicroservices();
  await app.listen(0, '127.0.0.1');
  return {
    app,
    operations,
    streams: app.get(OpenStreams),
    url: await app.getUrl(),
    grpc: `127.0.0.1:${transport.port}`,
    drain: () => draining.abort(),
  };
}

const definition = loadSync('a2a.proto', {
  includeDirs: [new URL('../../proto', import.meta.url).pathname],
  keepCase: false,
  longs: Number,
  enums: String,
  oneofs: true,
});
const { lf } = loadPackageDefinition(definition) as unknown as {
  lf: { a2a: { v1: { A2AService: new (...given: ConstructorParameters<typeof Client>) => Client } } };
};

/** A plain grpc-js client on stubs that proto-loader makes of the proto file. It takes answers of any size. Close it in the end. */
export function grpcClient(address: string, more: ClientOptions = {}): Client {
  const options = { 'grpc.max_receive_message_length': -1, ...more };
  return new lf.a2a.v1.A2AService(address, credentials.createInsecure(), options);
}

export function metadata(entries: Record<string, string> = { 'a2a-version': '1.0' }): Metadata {
  const result = new Metadata();
  for (const [name, value] of Object.entries(entries)) result.set(name, value);
  return result;
}

type Unary = (
  request: object,
  metadata: Metadata,
  done: (error: ServiceError | null, reply: Record<string, unknown>) => void,
) => { on(event: 'metadata', listener: (metadata: Metadata) => void): void };

export interface UnaryResult {
  readonly error: ServiceError | undefined;
  readonly reply: Record<string, unknown> | undefined;
  readonly headers: Metadata | undefined;
}

/** Calls a unary rpc; a failed one resolves too, with its error. */
export function unary(
  client: Client,
  rpc: string,
  request: object,
  given = metadata(),
): Promise<UnaryResult> {
  const method = (client as unknown as Record<string, Unary>)[rpc]!;
  return new Promise((resolve) => {
    let headers: Metadata | undefined;
    const call = method.call(client, request, given, (error, reply) =>
      resolve({ error: error ?? undefined, reply, headers }),
    );
    call.on('metadata', (received) => {
      headers = received;
    });
  });
}
