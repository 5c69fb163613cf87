import { AgentCard as RemoteCard, SendMessageRequest, StreamResponse, Task } from '@a2a-js/sdk';
import {
  type Client,
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  type RequestOptions,
  RestTransportFactory,
} from '@a2a-js/sdk/client';
import { GrpcTransportFactory } from '@a2a-js/sdk/client/grpc';
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { credentials } from '@grpc/grpc-js';
import { Agent, fetch } from 'undici';
import {
  type AgentCard,
  AgentCardSchema,
  decodeMessage,
  type StreamResponse as Event,
  StreamResponseSchema,
} from '../../protocol/index.js';
import { traceHeaders } from '../../telemetry/index.js';
import type { BackendOf } from './backend.schema.js';
import { recordWithSecrets } from './secret.reference.js';

type Fetch = typeof globalThis.fetch;

const CARD = /\.json$|\/card$/;
const PATIENT = new Agent({ headersTimeout: 0, bodyTimeout: 0 });
/** Speaks 0.3 with those who speak nothing newer. */
const legacyCompat = { enabled: true };

/** Another agent, through the public SDK: its card says how it is reached. */
export class A2AClient {
  #client: Promise<Client> | undefined;

  constructor(private readonly backend: BackendOf<'a2a'>) {}

  async *send(message: JsonObject, options: RequestOptions): AsyncGenerator<Event, void, undefined> {
    const client = await this.#connected();
    const events = client.sendMessageStream(SendMessageRequest.fromJSON({ message }), options);
    for await (const event of events) yield eventOf(StreamResponse.toJSON(event));
  }

  async *resubscribe(id: string, options: RequestOptions): AsyncGenerator<Event, void, undefined> {
    const client = await this.#connected();
    for await (const event of client.resubscribeTask({ id, tenant: '' }, options))
      yield eventOf(StreamResponse.toJSON(event));
  }

  async get(id: string, options: RequestOptions): Promise<Event> {
    const client = await this.#connected();
    const task = await client.getTask({ id, tenant: '', historyLength: 0 }, options);
    return eventOf({ task: Task.toJSON(task) });
  }

  async cancel(id: string, options: RequestOptions): Promise<void> {
    const client = await this.#connected();
    await client.cancelTask({ id, tenant: '', metadata: undefined }, options);
  }

  /** Read once; anew after it could not be read. */
  #connected(): Promise<Client> {
    this.#client ??= this.#connect().catch((error: unknown) => {
      this.#client = undefined;
      throw error;
    });
    return this.#client;
  }

  /** The card of the other agent, as it is now. */
  async card(): Promise<AgentCard> {
    const card = await this.#resolver().resolve(...this.#cardAddress());
    return decodeMessage(AgentCardSchema, RemoteCard.toJSON(card) as JsonValue);
  }

  async #connect(): Promise<Client> {
    const { url, binding } = this.backend;
    const plain = new URL(url).protocol === 'http:';
    const factory = new ClientFactory({
      transports: [
        new JsonRpcTransportFactory({ fetchImpl, legacyCompat }),
        new RestTransportFactory({ fetchImpl, legacyCompat }),
        new GrpcTransportFactory({
          grpcChannelCredentials: plain ? credentials.createInsecure() : credentials.createSsl(),
          legacyCompat,
        }),
      ],
      preferredTransports: binding && [binding],
      cardResolver: this.#resolver(),
    });
    return factory.createFromUrl(...this.#cardAddress());
  }

  #resolver(): DefaultAgentCardResolver {
    const ownHeaders = () => ({ ...traceHeaders(), ...recordWithSecrets(this.backend.headers) });
    const forCard = ((input: string, init: { headers?: object } = {}) =>
      fetchImpl(input, { ...init, headers: { ...init.headers, ...ownHeaders() } })) as Fetch;
    return new DefaultAgentCardResolver({ fetchImpl: forCard, legacyCompat });
  }

  /** The address of a card, or of a server that shows its card where cards are looked for. */
  #cardAddress(): [url: string, path?: string] {
    const { url } = this.backend;
    if (CARD.test(new URL(url).pathname)) return [url, ''];
    return [url.endsWith('/') ? url : `${url}/`];
  }
}

/** Credentials go nowhere else than where they were meant for. */
const fetchImpl = ((input: string, init: object) =>
  fetch(input, { ...init, redirect: 'error', dispatcher: PATIENT })) as unknown as Fetch;

function eventOf(json: unknown): Event {
  return decodeMessage(StreamResponseSchema, json as JsonValue);
}
