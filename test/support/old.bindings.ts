import { create } from '@bufbuild/protobuf';
import {
  type Client,
  type ClientOptions,
  credentials,
  loadPackageDefinition,
  type Metadata,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { ANONYMOUS, Authenticator, type Credentials } from '../../src/auth/index.js';
import type { Environment } from '../../src/config/index.js';
import {
  A2AError,
  AgentCardSchema,
  ListTaskPushNotificationConfigsResponseSchema,
  type Principal,
  TaskPushNotificationConfigSchema,
} from '../../src/protocol/index.js';
import { type Bindings, metadata, startBindings, unary } from './bindings.js';
import { fakeAgent } from './fake.agents.js';
import { FakeOperations } from './fake.operations.js';

/** An extension of the default agent. */
export const EXTENSION = 'https://e.example/timing';

/** The extended card. */
export const CARD = create(AgentCardSchema, {
  name: 'Public',
  description: 'What all may see',
  version: '1',
  capabilities: { streaming: true, extendedAgentCard: true },
  supportedInterfaces: [
    { url: 'https://a.example/jsonrpc', protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
  ],
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [
    {
      ...{ id: 's', name: 'S', description: 'does', tags: ['t'] },
      securityRequirements: [{ schemes: { oidc: { list: ['a2a.send'] } } }],
    },
  ],
  securitySchemes: {
    oidc: {
      scheme: { case: 'openIdConnectSecurityScheme', value: { openIdConnectUrl: 'https://i.example/o' } },
    },
    key: { scheme: { case: 'apiKeySecurityScheme', value: { location: 'header', name: 'X-API-Key' } } },
  },
  securityRequirements: [{ schemes: { oidc: { list: ['a2a.send'] } } }, { schemes: { key: {} } }],
  iconUrl: 'https://a.example/icon',
});

export const CONFIG = { taskId: 'task-1', id: 'c-1', url: 'https://hook.example/x', token: 'secret' };
const BEARER = { authentication: { scheme: 'Bearer', credentials: 'abc' } };

class Old extends FakeOperations {
  override getExtendedAgentCard = async () => CARD;
  override getTaskPushNotificationConfig: FakeOperations['getTaskPushNotificationConfig'] = async () =>
    create(TaskPushNotificationConfigSchema, { ...CONFIG, ...BEARER });
  override listTaskPushNotificationConfigs: FakeOperations['listTaskPushNotificationConfigs'] = async () =>
    create(ListTaskPushNotificationConfigsResponseSchema, { configs: [{ ...CONFIG, ...BEARER }] });
}

/** Lets in whoever has a token, and everyone where the test does not ask for one. */
class Doorman extends Authenticator {
  strict = false;

  async authenticate(credentials: Credentials): Promise<Principal> {
    if (this.strict && !credentials.header('authorization')) {
      throw new A2AError('unauthenticated', { challenge: 'Bearer' });
    }
    return ANONYMOUS;
  }
}

export const SAYS = {
  kind: 'message',
  messageId: 'm-1',
  role: 'user',
  parts: [{ kind: 'text', text: 'hello' }],
};
export const SAYS_PROTO = { messageId: 'm-1', role: 'ROLE_USER', content: [{ text: 'hello' }] };
/** Of all that the fakes answer. */
export const TIME = '2026-01-02T03:04:05.006Z';

/** The bindings over fakes, in both versions: from before a file's first test until after its last one. */
export class OldBindings {
  readonly doorman = new Doorman();
  readonly operations = new Old();
  #bindings!: Bindings<Old>;
  #stub!: Client;

  constructor(env: Environment = {}) {
    beforeAll(async () => {
      const versions = ['1.0', '0.3'] as const;
      this.#bindings = await startBindings({
        env,
        operations: this.operations,
        authenticator: this.doorman,
        agents: [fakeAgent({ extensions: [{ uri: EXTENSION }] }), fakeAgent({ id: 'acme' })],
        capabilities: { versions: { JSONRPC: versions, 'HTTP+JSON': versions, GRPC: versions } },
      });
      this.#stub = oldGrpcClient(this.grpcAddress);
    });
    afterAll(async () => {
      this.#stub?.close();
      await this.#bindings?.app.close();
    });
    beforeEach(() => {
      this.operations.calls.splice(0);
      this.doorman.strict = false;
    });
  }

  get grpcAddress(): string {
    return this.#bindings.grpc;
  }

  readonly http = async (
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ) => {
    const content = body === undefined ? {} : { 'content-type': 'application/json' };
    const response = await fetch(this.#bindings.url + path, {
      method,
      body: body === undefined ? undefined : JSON.stringify(body),
      headers: { ...content, ...headers },
    } as RequestInit);
    const text = await response.text();
    const events = [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data!));
    const json = text.startsWith('{') ? JSON.parse(text) : undefined;
    return { response, status: response.status, json, events };
  };

  readonly rpc = (method: string, params: object = {}, headers?: Record<string, string>) =>
    this.http('POST', '/jsonrpc', { jsonrpc: '2.0', id: 'x', method, params }, headers);

  readonly grpc = (name: string, request: object, given: Metadata = metadata({})) =>
    unary(this.#stub, name, request, given);

  /** All that a streaming rpc brings. */
  async frames(name: string, request: object): Promise<object[]> {
    const stub = this.#stub as unknown as Record<string, (request: object) => AsyncIterable<object>>;
    const all: object[] = [];
    for await (const frame of stub[name]!(request)) all.push(frame);
    return all;
  }
}

/** A client on stubs that proto-loader makes of the proto file of 0.3. Close it in the end. */
export function oldGrpcClient(address: string, options: ClientOptions = {}): Client {
  const definition = loadSync('a2a_v03.proto', {
    includeDirs: [new URL('../../proto', import.meta.url).pathname],
    enums: String,
    oneofs: true,
    longs: Number,
  });
  const { a2a } = loadPackageDefinition(definition) as unknown as {
    a2a: { v1: { A2AService: new (...given: ConstructorParameters<typeof Client>) => Client } };
  };
  return new a2a.v1.A2AService(address, credentials.createInsecure(), options);
}
