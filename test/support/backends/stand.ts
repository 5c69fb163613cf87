import { execFileSync } from 'node:child_process';
import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Behaviour = 'hello' | 'stream' | 'ask' | 'auth' | 'wait' | 'silent' | 'die' | 'garbage' | 'big';

/** A request as it came. */
export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
}

/** A real back end of one kind, and how an operator writes it down. */
export interface Stand {
  readonly backend: Record<string, unknown>;
  /** What came over HTTP so far. */
  readonly requests: readonly SeenRequest[];
  /** A replica that takes over finds the work again. */
  readonly isRemembered?: boolean;
  /** Turns that the other side works on right now. */
  running(): number;
  /** Turns that the other side was ever given. */
  begun(): number;
  close(): Promise<void>;
}

export interface TestServer {
  readonly url: string;
  readonly requests: readonly SeenRequest[];
  close(): Promise<void>;
}

/** A server on a free port of loopback. Closing it breaks what is open. */
export async function serve(listener: RequestListener): Promise<TestServer> {
  const requests: SeenRequest[] = [];
  const server: Server = createServer((request, response) => {
    const { method = '', url = '', headers } = request;
    requests.push({ method, url, headers });
    listener(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** How much is going on, now and ever. */
export class Count {
  now = 0;
  ever = 0;

  async during<T>(work: () => Promise<T>): Promise<T> {
    this.now++;
    this.ever++;
    try {
      return await work();
    } finally {
      this.now--;
    }
  }
}

/** Back ends that are programs, known by a mark among their arguments. */
export function ownProcesses() {
  const mark = `stand-${process.pid}-${Math.random()}`;
  const pids = () =>
    execFileSync('ps', ['-eo', 'pid,args'], { encoding: 'utf8' })
      .split('\n')
      .filter((line) => line.includes(mark) && line.includes('.agent.mjs'))
      .map((line) => Number.parseInt(line, 10));
  return {
    mark,
    running: () => pids().length,
    /** A replica that was killed could not end them. */
    close: async () => {
      for (const pid of pids()) process.kill(pid, 'SIGKILL');
    },
  };
}
