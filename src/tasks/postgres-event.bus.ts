import { Logger } from '@nestjs/common';
import type { Postgres } from '../database/index.js';
import { EventBus, type Heard, type Hint } from './event.bus.js';
import { HintBatch, readHints } from './hint.batch.js';

type Session = Awaited<ReturnType<Postgres['session']>>;

const CHANNEL = 'parley_hints';
const HELLO_MS = 5_000;
/** A replica that has not been heard of for this long is gone. */
const SILENCE_MS = 3 * HELLO_MS;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;

/**
 * Hints by LISTEN and NOTIFY on a connection of its own, never inside a writing transaction: a NOTIFY makes
 * commits queue behind one another. While one NOTIFY is under way the next hints gather. Replicas greet each
 * other, so that a lone one sends nothing.
 *
 *   connecting --ok--> listening (hello, then "resync" to the listeners) --lost--> connecting, with back-off
 */
export class PostgresEventBus extends EventBus {
  readonly #batch = new HintBatch();
  readonly #listeners: ((hint: Heard) => void)[] = [];
  readonly #peers = new Map<string, number>();
  #session: Session | undefined;
  #sending = false;
  #helloDue = false;
  #stopped = false;
  #hello: NodeJS.Timeout | undefined;

  /** `name` tells this replica from the others: without spaces. */
  constructor(
    private readonly postgres: Postgres,
    private readonly name: string,
  ) {
    super();
  }

  get connected(): boolean {
    return this.#session !== undefined;
  }

  listen(heard: (hint: Heard) => void): void {
    this.#listeners.push(heard);
  }

  tell(hint: Hint): void {
    if (!this.#session || !this.#hasPeers()) return;
    this.#batch.add(hint);
    this.#wake();
  }

  async start(): Promise<void> {
    this.#hello = setInterval(() => this.#greet(), HELLO_MS).unref();
    await this.#connect(FIRST_PAUSE_MS);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#hello);
    const session = this.#session;
    this.#session = undefined;
    await session?.end().catch(() => undefined);
  }

  async #connect(pause: number): Promise<void> {
    if (this.#stopped) return;
    try {
      const session = await this.postgres.session('events');
      const lost = () => this.#lost(session);
      session.on('error', lost);
      session.on('end', lost);
      session.on('notification', ({ payload }) => this.#receive(payload ?? ''));
      await session.query(`LISTEN ${CHANNEL}; SET synchronous_commit = off`);
      this.#session = session;
      this.#hear({ kind: 'resync' });
      this.#greet();
    } catch (error) {
      LOG.debug({ message: 'no connection for hints', cause: error });
      setTimeout(() => void this.#connect(Math.min(pause * 2, LONGEST_PAUSE_MS)), pause).unref();
    }
  }

  #lost(session: Session): void {
    if (this.#session !== session) return;
    this.#session = undefined;
    this.#batch.clear();
    LOG.warn('The connection for hints was lost; events of other replicas arrive later until it is back');
    void session.end().catch(() => undefined);
    void this.#connect(FIRST_PAUSE_MS);
  }

  #wake(): void {
    if (this.#sending) return;
    this.#sending = true;
    setImmediate(() => void this.#send());
  }

  /** One NOTIFY after the other, as long as there is something to say. */
  async #send(): Promise<void> {
    while (this.#session && (this.#helloDue || !this.#batch.empty)) {
      const messages = this.#batch.take(this.name);
      if (messages.length === 0) messages.push(this.name);
      this.#helloDue = false;
      await this.#notify(this.#session, messages);
    }
    this.#sending = false;
  }

  async #notify(session: Session, messages: readonly string[]): Promise<void> {
    const text = `SELECT pg_notify('${CHANNEL}', m) FROM unnest($1::text[]) m`;
    await session.query({ name: 'notify', text, values: [messages] }).catch(() => this.#lost(session));
  }

  /** Every message greets; an empty one does nothing else. */
  #greet(): void {
    for (const [peer, seen] of this.#peers) if (Date.now() - seen > SILENCE_MS) this.#peers.delete(peer);
    this.#helloDue = true;
    this.#wake();
  }

  #hasPeers(): boolean {
    return this.#peers.size > 0;
  }

  #receive(message: string): void {
    const { sender, hints } = readHints(message);
    if (sender === this.name) return;
    const known = this.#peers.has(sender);
    this.#peers.set(sender, Date.now());
    if (!known) this.#greet();
    for (const hint of hints) this.#hear(hint);
  }

  #hear(hint: Heard): void {
    for (const heard of this.#listeners) heard(hint);
  }
}

const LOG = new Logger('EventBus');
