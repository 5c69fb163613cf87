import {
  AgentCard as RemoteCard,
  type StreamResponse as RemoteEvent,
  SendMessageRequest,
  StreamResponse,
  Task,
} from '@a2a-js/sdk';
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
import {
  type AgentCard,
  AgentCardSchema,
  decodeMessage,
  type StreamResponse as Event,
  StreamResponseSchema,
  TaskState,
} from '../../protocol/index.js';
import { backendFetch } from './backend.fetch.js';
import type { BackendOf } from './backend.schema.js';
import { recordWithSecrets } from './secret.reference.js';

type Fetch = typeof globalThis.fetch;

const CARD = /\.json$|\/card$/;
/** Speaks 0.3 with those who speak nothing newer. */
const legacyCompat = { enabled: true };

/** Another agent, through the public SDK: its card says how it is reached. */
export class A2AClient {
  #client: Promise<Client> | undefined;

  constructor(private readonly backend: BackendOf<'a2a'>) {}

  async *send(message: JsonObject, options: RequestOptions): AsyncGenerator<Event, void, undefined> {
    const client = await this.#connected();
    const events = client.sendMessageStream(SendMessageRequest.fromJSON({ message }), options);
    yield* this.#told(client, events, options);
  }

  async *resubscribe(id: string, options: RequestOptions): AsyncGenerator<Event, void, undefined> {
    const client = await this.#connected();
    yield* this.#told(client, client.resubscribeTask({ id, tenant: '' }, options), options);
  }

  /**
   * What the SDK brings of 0.3 over HTTP+JSON and gRPC has lost which artifacts are chunks. A second one of the same
   * id is taken for a chunk, and the whole task, where the turn ends, sets right what was none.
   */
  async *#told(client: Client, events: AsyncIterable<RemoteEvent>, options: RequestOptions) {
    const isLossy = client.protocolVersion.startsWith('0.3') && client.transport.protocolName !== 'JSONRPC';
    const seen = new Set<string>();
    let hasChunks = false;
    for await (const remote of events) {
      const event = eventOf(StreamResponse.toJSON(remote));
      const { payload } = event;
      if (isLossy && payload.case === 'artifactUpdate') {
        const id = payload.value.artifact?.artifactId ?? '';
        payload.value.append = seen.has(id);
        hasChunks ||= seen.has(id);
        seen.add(id);
      }
      const state = payload.case === 'statusUpdate' ? payload.value.status?.state : undefined;
      const isOver = state !== undefined && state !== TaskState.SUBMITTED && state !== TaskState.WORKING;
      if (hasChunks && isOver && payload.case === 'statusUpdate')
        yield await this.get(payload.value.taskId, options);
      else yield event;
    }
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
    // What the card leaves out is there as undefined.
    return decodeMessage(AgentCardSchema, JSON.parse(JSON.stringify(RemoteCard.toJSON(card))) as JsonValue);
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
    const ownHeaders = () => recordWithSecrets(this.backend.headers);
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
  backendFetch(input, { ...init, redirect: 'error' })) as unknown as Fetch;

function eventOf(json: unknown): Event {
  return decodeMessage(StreamResponseSchema, json as JsonValue);
}
