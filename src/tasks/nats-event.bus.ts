import { connect, type NatsConnection, type NodeConnectionOptions } from '@nats-io/transport-node';
import { Logger } from '@nestjs/common';
import { EventBus, type Heard, type Hint } from './event.bus.js';
import { HintBatch, readHints } from './hint.batch.js';

const SUBJECT = 'parley.hints';
const CONNECT_MS = 5_000;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;
/** Two pings without an answer, and a broker that says nothing is left. */
const PING_MS = 5_000;

/**
 * Hints through a NATS server. Hints of one round of the event loop go as one message.
 *
 *   connecting --ok--> connected ("resync" to the listeners) --lost--> the client connects again ("resync")
 *       \--not at first: again, with back-off
 */
export class NatsEventBus extends EventBus {
  readonly #batch = new HintBatch();
  readonly #listeners: ((hint: Heard) => void)[] = [];
  #connection: NatsConnection | undefined;
  #connected = false;
  #sending = false;
  #stopped = false;

  /** `url`: `nats://` or, with TLS, `tls://`, with user and password or a token where they are wanted. */
  constructor(
    private readonly url: string,
    private readonly name: string,
  ) {
    super();
  }

  get connected(): boolean {
    return this.#connected;
  }

  listen(heard: (hint: Heard) => void): void {
    this.#listeners.push(heard);
  }

  tell(hint: Hint): void {
    if (!this.#connected) return;
    this.#batch.add(hint);
    if (this.#sending) return;
    this.#sending = true;
    setImmediate(() => this.#send());
  }

  start(): Promise<void> {
    return this.#connect(FIRST_PAUSE_MS);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#connected = false;
    await this.#connection?.close().catch(() => undefined);
  }

  async #connect(pause: number): Promise<void> {
    if (this.#stopped) return;
    try {
      const connection = await connect(optionsOf(this.url, this.name));
      connection.subscribe(SUBJECT, { callback: (_, message) => this.#receive(message.string()) });
      this.#connection = connection;
      void this.#watch(connection);
      if (this.#stopped) await connection.close();
      else this.#resync();
    } catch (error) {
      LOG.debug({ message: 'no connection for hints', cause: error });
      setTimeout(() => void this.#connect(Math.min(pause * 2, LONGEST_PAUSE_MS)), pause).unref();
    }
  }

  /** The client connects again by itself and for ever. Ends when the connection is closed. */
  async #watch(connection: NatsConnection): Promise<void> {
    for await (const { type } of connection.status()) {
      if (type === 'reconnect') this.#resync();
      if (type !== 'disconnect' || !this.#connected) continue;
      this.#connected = false;
      this.#batch.clear();
      LOG.warn('NATS was lost; events of other replicas arrive later until it is back');
    }
  }

  #resync(): void {
    this.#connected = true;
    this.#hear({ kind: 'resync' });
  }

  #send(): void {
    this.#sending = false;
    if (!this.#connected) return;
    for (const message of this.#batch.take(this.name)) this.#connection?.publish(SUBJECT, message);
  }

  #receive(message: string): void {
    for (const hint of readHints(message).hints) this.#hear(hint);
  }

  #hear(hint: Heard): void {
    for (const heard of this.#listeners) heard(hint);
  }
}

function optionsOf(url: string, name: string): NodeConnectionOptions {
  const { protocol, host, username, password } = new URL(url);
  const [user, pass] = [username, password].map(decodeURIComponent);
  const identity = pass ? { user, pass } : { token: user || undefined };
  return {
    ...identity,
    servers: host,
    tls: protocol === 'tls:' ? {} : undefined,
    name: `parley ${name}`,
    noEcho: true,
    timeout: CONNECT_MS,
    pingInterval: PING_MS,
    maxReconnectAttempts: -1,
    reconnectTimeWait: FIRST_PAUSE_MS * 5,
  };
}

const LOG = new Logger('EventBus');
