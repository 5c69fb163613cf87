import { SendMessageRequest, StreamResponse, Task } from '@a2a-js/sdk';
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
import { decodeMessage, type StreamResponse as Event, StreamResponseSchema } from '../../protocol/index.js';
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

  async #connect(): Promise<Client> {
    const { url, binding, headers } = this.backend;
    const patient = ((input: string, init: object) =>
      fetch(input, { ...init, redirect: 'error', dispatcher: PATIENT })) as unknown as Fetch;
    const forCard = ((input: string, init: { headers?: object } = {}) =>
      patient(input, { ...init, headers: { ...init.headers, ...recordWithSecrets(headers) } })) as Fetch;
    const plain = new URL(url).protocol === 'http:';
    const factory = new ClientFactory({
      transports: [
        new JsonRpcTransportFactory({ fetchImpl: patient, legacyCompat }),
        new RestTransportFactory({ fetchImpl: patient, legacyCompat }),
        new GrpcTransportFactory({
          grpcChannelCredentials: plain ? credentials.createInsecure() : credentials.createSsl(),
          legacyCompat,
        }),
      ],
      preferredTransports: binding && [binding],
      cardResolver: new DefaultAgentCardResolver({ fetchImpl: forCard, legacyCompat }),
    });
    return CARD.test(new URL(url).pathname)
      ? factory.createFromUrl(url, '')
      : factory.createFromUrl(url.endsWith('/') ? url : `${url}/`);
  }
}

function eventOf(json: unknown): Event {
  return decodeMessage(StreamResponseSchema, json as JsonValue);
}
