import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** A way to a database that can be shut: whoever is connected is cut off, and nobody gets in until it opens. */
export class DatabaseGate {
  readonly #sockets = new Set<Socket>();
  #server: Server;
  #port = 0;

  private constructor(private readonly target: URL) {
    this.#server = this.#newServer();
  }

  /** @param databaseUrl where it leads to */
  static async open(databaseUrl: string): Promise<DatabaseGate> {
    const gate = new DatabaseGate(new URL(databaseUrl));
    await gate.#listen();
    return gate;
  }

  /** The same database through the gate. */
  get url(): string {
    return Object.assign(new URL(this.target), { port: String(this.#port) }).href;
  }

  async shut(): Promise<void> {
    const closed = once(this.#server.close(), 'close');
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  async reopen(): Promise<void> {
    this.#server = this.#newServer();
    await this.#listen();
  }

  async #listen(): Promise<void> {
    await once(this.#server.listen(this.#port, '127.0.0.1'), 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  #newServer(): Server {
    return createServer((near) => {
      const far = connect(Number(this.target.port), this.target.hostname);
      for (const [socket, other] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(socket);
        socket.on('error', () => undefined);
        socket.on('close', () => {
          this.#sockets.delete(socket);
          other.destroy();
        });
        socket.pipe(other);
      }
    });
  }
}
